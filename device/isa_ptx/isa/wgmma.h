// Fences, groups and waits around wgmma.mma_async; the products themselves are in wgmma_mma.h. All four warps of the
// warpgroup execute these together. Accumulators, and A in registers, are not touched between issue and wait.
#pragma once

#include "isa/config.h"
#include "isa/wgmma_mma.h"

namespace fovea::isa {

// Asynchronous Warpgroup Level Matrix Instructions: wgmma.fence, sm_90a. Before the first product, and after other code
// wrote accumulators or A registers.
FOVEA_INLINE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Asynchronous Warpgroup Level Matrix Instructions: wgmma.commit_group, sm_90a.
FOVEA_INLINE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Asynchronous Warpgroup Level Matrix Instructions: wgmma.wait_group, sm_90a. Leaves at most the kPending newest
// groups.
template <int kPending>
FOVEA_INLINE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// No instruction: -, sm_80. Keeps the compiler from moving uses of an accumulator across this place.
FOVEA_INLINE void wgmma_fence_operand(f32& x) { asm volatile("" : "+f"(x)::"memory"); }

}  // namespace fovea::isa
