// Non-bulk asynchronous copies (PTX ISA, "cp.async", "cp.async.commit_group", "cp.async.wait_group",
// "cp.async.mbarrier.arrive"; SM80). Bytes of the destination beyond src_bytes become zero.
#pragma once

#include "config.h"

namespace fovea::isa {

template <int kBytes>
FOVEA_INLINE void cp_async_ca(SmemPtr dst, const void* src, u32 src_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  model::this_thread().cp_async(dst.address, src, kBytes, src_bytes, model::CacheOp::ca);
}
FOVEA_INLINE void cp_async_cg(SmemPtr dst, const void* src, u32 src_bytes) {
  model::this_thread().cp_async(dst.address, src, 16, src_bytes, model::CacheOp::cg);
}
FOVEA_INLINE void cp_async_commit_group() { model::this_thread().cp_async_commit_group(); }
template <int kNewestPending>
FOVEA_INLINE void cp_async_wait_group() {
  static_assert(kNewestPending >= 0);
  model::this_thread().cp_async_wait_group(static_cast<u32>(kNewestPending));
}
FOVEA_INLINE void cp_async_wait_all() { model::this_thread().cp_async_wait_all(); }
FOVEA_INLINE void cp_async_mbarrier_arrive(SmemPtr mbar) {
  model::this_thread().cp_async_mbarrier_arrive(mbar.address, false);
}
FOVEA_INLINE void cp_async_mbarrier_arrive_noinc(SmemPtr mbar) {
  model::this_thread().cp_async_mbarrier_arrive(mbar.address, true);
}

}  // namespace fovea::isa
