// mbarrier objects: 8 bytes of shared memory, 8-byte aligned, with phase, pending arrivals and pending bytes. A phase
// completes when both counts reach zero. Arrivals release and waits acquire, at CTA scope.
// Waiting for parity P succeeds once the phase of that parity is complete: a fresh barrier blocks 0 and passes 1.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// mbarrier: mbarrier.init, sm_80. `count` arrivals make a phase. Follow with fence_mbarrier_init and a barrier.
FOVEA_INLINE void mbarrier_init(SmemPtr mbar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbar.address), "r"(count) : "memory");
}

// mbarrier: mbarrier.inval, sm_80. Before the memory serves anything else.
FOVEA_INLINE void mbarrier_inval(SmemPtr mbar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(mbar.address) : "memory");
}

// mbarrier: mbarrier.arrive, sm_80. The state of the phase before the arrival, for mbarrier_test_wait.
FOVEA_INLINE u64 mbarrier_arrive(SmemPtr mbar) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(mbar.address) : "memory");
  return state;
}

// mbarrier: mbarrier.arrive_drop, sm_80. Arrives, and leaves later phases with one arrival fewer.
FOVEA_INLINE void mbarrier_arrive_drop(SmemPtr mbar) {
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(mbar.address) : "memory");
}

// mbarrier: mbarrier.test_wait, sm_80. Does not wait: whether the phase of `state` is complete.
FOVEA_INLINE bool mbarrier_test_wait(SmemPtr mbar, u64 state) {
  u32 d;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(d)
               : "r"(mbar.address), "l"(state)
               : "memory");
  return d != 0;
}
FOVEA_INLINE bool mbarrier_test_wait_parity(SmemPtr mbar, u32 parity) {
  u32 d;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(d)
               : "r"(mbar.address), "r"(parity)
               : "memory");
  return d != 0;
}

// mbarrier: mbarrier.pending_count, sm_80. Arrivals that the phase of `state` still lacked.
FOVEA_INLINE u32 mbarrier_pending_count(u64 state) {
  u32 d;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(d) : "l"(state));
  return d;
}

// mbarrier: mbarrier.arrive, sm_90. `count` arrivals at once.
FOVEA_INLINE void mbarrier_arrive_n(SmemPtr mbar, u32 count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(mbar.address), "r"(count) : "memory");
}
// One arrival that also makes the phase wait for `bytes`.
FOVEA_INLINE void mbarrier_arrive_expect_tx(SmemPtr mbar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbar.address), "r"(bytes) : "memory");
}
// At a barrier of another CTA of the cluster (mapa). Hands back a buffer that was only read; data for that CTA goes
// with st_async or bulk_copy_cluster, or needs fence_acq_rel_cluster before.
FOVEA_INLINE void mbarrier_arrive_cluster(SmemPtr remote) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote.address) : "memory");
}

// mbarrier: mbarrier.expect_tx, sm_90. No arrival.
FOVEA_INLINE void mbarrier_expect_tx(SmemPtr mbar, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(mbar.address), "r"(bytes) : "memory");
}

// mbarrier: mbarrier.complete_tx, sm_90. Counts bytes as if a copy had brought them.
FOVEA_INLINE void mbarrier_complete_tx(SmemPtr mbar, u32 bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(mbar.address), "r"(bytes) : "memory");
}

// mbarrier: mbarrier.try_wait, sm_90. May suspend the thread for a while; false when the phase is still open.
FOVEA_INLINE bool mbarrier_try_wait_parity(SmemPtr mbar, u32 parity) {
  u32 d;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(d)
               : "r"(mbar.address), "r"(parity)
               : "memory");
  return d != 0;
}
FOVEA_INLINE void mbarrier_wait_parity(SmemPtr mbar, u32 parity) {
  while (!mbarrier_try_wait_parity(mbar, parity)) {
  }
}

}  // namespace fovea::isa
