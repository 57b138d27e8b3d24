// mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"; init, inval, arrive
// and test_wait SM80, the rest SM90).
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE void mbarrier_init(SmemPtr p, u32 count) {
  model::this_thread().mbarrier(model::Mbarrier::init, p.address, count);
}
FOVEA_INLINE void mbarrier_inval(SmemPtr p) { model::this_thread().mbarrier(model::Mbarrier::inval, p.address, 0); }
FOVEA_INLINE u64 mbarrier_arrive(SmemPtr p) {
  return model::this_thread().mbarrier(model::Mbarrier::arrive, p.address, 1);
}
FOVEA_INLINE void mbarrier_arrive_n(SmemPtr p, u32 count) {
  model::this_thread().mbarrier(model::Mbarrier::arrive, p.address, count);
}
FOVEA_INLINE void mbarrier_arrive_expect_tx(SmemPtr p, u32 bytes) {
  model::this_thread().mbarrier(model::Mbarrier::arrive_expect_tx, p.address, bytes);
}
FOVEA_INLINE void mbarrier_expect_tx(SmemPtr p, u32 bytes) {
  model::this_thread().mbarrier(model::Mbarrier::expect_tx, p.address, bytes);
}
FOVEA_INLINE void mbarrier_complete_tx(SmemPtr p, u32 bytes) {
  model::this_thread().mbarrier(model::Mbarrier::complete_tx, p.address, bytes);
}
FOVEA_INLINE void mbarrier_arrive_cluster(SmemPtr remote) {
  model::this_thread().mbarrier(model::Mbarrier::arrive_cluster, remote.address, 1);
}
FOVEA_INLINE void mbarrier_arrive_drop(SmemPtr p) {
  model::this_thread().mbarrier(model::Mbarrier::arrive_drop, p.address, 1);
}
FOVEA_INLINE bool mbarrier_test_wait(SmemPtr p, u64 state) {
  return model::this_thread().mbarrier_test(model::MbarrierTest::state, p.address, state);
}
FOVEA_INLINE bool mbarrier_test_wait_parity(SmemPtr p, u32 parity) {
  return model::this_thread().mbarrier_test(model::MbarrierTest::parity, p.address, parity);
}
FOVEA_INLINE bool mbarrier_try_wait_parity(SmemPtr p, u32 parity) {
  return model::this_thread().mbarrier_test(model::MbarrierTest::try_parity, p.address, parity);
}
FOVEA_INLINE void mbarrier_wait_parity(SmemPtr p, u32 parity) {
  model::this_thread().mbarrier_wait_parity(p.address, parity);
}
FOVEA_INLINE u32 mbarrier_pending_count(u64 state) { return model::this_thread().mbarrier_pending_count(state); }

}  // namespace fovea::isa
