// Barriers of a CTA or a warp, and fences. `threads` is a multiple of the warp size and counts arrivers and waiters;
// ids are 0..15, 0 being that of syncthreads. Whole warps execute the bar.* forms together. mbarrier objects are in
// mbarrier.h, cluster barriers in cluster.h.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Parallel Synchronization and Communication Instructions: bar, sm_80.
FOVEA_INLINE void bar_sync(u32 id, u32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
FOVEA_INLINE void bar_arrive(u32 id, u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
FOVEA_INLINE void syncthreads() { asm volatile("bar.sync 0;" ::: "memory"); }
// How many of the threads came with `predicate` set.
FOVEA_INLINE u32 bar_red_popc(u32 id, u32 threads, bool predicate) {
  u32 d;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; bar.red.popc.u32 %0, %1, %2, p; }"
               : "=r"(d)
               : "r"(id), "r"(threads), "r"(static_cast<u32>(predicate))
               : "memory");
  return d;
}
FOVEA_INLINE bool bar_red_or(u32 id, u32 threads, bool predicate) {
  u32 d;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(d)
               : "r"(id), "r"(threads), "r"(static_cast<u32>(predicate))
               : "memory");
  return d != 0;
}

// Parallel Synchronization and Communication Instructions: bar.warp.sync, sm_80.
FOVEA_INLINE void bar_warp_sync(u32 mask) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }

// Parallel Synchronization and Communication Instructions: membar, sm_80.
FOVEA_INLINE void membar_cta() { asm volatile("membar.cta;" ::: "memory"); }
FOVEA_INLINE void membar_gl() { asm volatile("membar.gl;" ::: "memory"); }

// Parallel Synchronization and Communication Instructions: fence, sm_90.
FOVEA_INLINE void fence_acq_rel_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
// Orders generic accesses (ld, st, stmatrix, cp.async) with those of the copy engine and wgmma, either way.
FOVEA_INLINE void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
FOVEA_INLINE void fence_proxy_async_shared_cta() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Makes mbarrier_init visible to the cluster and to the copy engine; a barrier must still follow.
FOVEA_INLINE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

}  // namespace fovea::isa
