// CTA and warp barriers, memory fences and proxy fences (PTX ISA, "bar", "bar.warp.sync", "membar / fence"; SM80,
// cluster scope and proxy fences SM90).
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE void bar_sync(u32 id, u32 threads) { model::this_thread().bar(model::Bar::sync, id, threads, false); }
FOVEA_INLINE void bar_arrive(u32 id, u32 threads) { model::this_thread().bar(model::Bar::arrive, id, threads, false); }
FOVEA_INLINE void syncthreads() {
  model::ThreadPort& self = model::this_thread();
  self.bar(model::Bar::sync, 0, self.special(model::Special::ntid_x), false);
}
FOVEA_INLINE u32 bar_red_popc(u32 id, u32 threads, bool predicate) {
  return model::this_thread().bar(model::Bar::red_popc, id, threads, predicate);
}
FOVEA_INLINE bool bar_red_or(u32 id, u32 threads, bool predicate) {
  return model::this_thread().bar(model::Bar::red_or, id, threads, predicate) != 0;
}
FOVEA_INLINE void bar_warp_sync(u32 mask) { model::this_thread().bar_warp_sync(mask); }

FOVEA_INLINE void membar_cta() { model::this_thread().fence(model::Fence::cta); }
FOVEA_INLINE void membar_gl() { model::this_thread().fence(model::Fence::gl); }
FOVEA_INLINE void fence_acq_rel_cluster() { model::this_thread().fence(model::Fence::acq_rel_cluster); }
FOVEA_INLINE void fence_proxy_async() { model::this_thread().fence(model::Fence::proxy_async); }
FOVEA_INLINE void fence_proxy_async_shared_cta() { model::this_thread().fence(model::Fence::proxy_async); }
FOVEA_INLINE void fence_mbarrier_init() { model::this_thread().fence(model::Fence::mbarrier_init); }

}  // namespace fovea::isa
