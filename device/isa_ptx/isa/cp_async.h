// Asynchronous copies of 4, 8 or 16 bytes from global to shared memory, and how a thread waits for its own. Source and
// destination are aligned to the copy size; src_bytes below the size fills the rest with zeros, 0 reads nothing.
// Waiting makes the data visible to the executing thread only; others need a barrier after it.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: cp.async, sm_80. Cached at all levels.
template <int kBytes>
FOVEA_INLINE void cp_async_ca(SmemPtr dst, const void* src, u32 src_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  asm volatile("cp.async.ca.shared::cta.global [%0], [%1], %2, %3;" ::"r"(dst.address), "l"(src), "n"(kBytes),
               "r"(src_bytes)
               : "memory");
}
// 16 bytes, past L1.
FOVEA_INLINE void cp_async_cg(SmemPtr dst, const void* src, u32 src_bytes) {
  asm volatile("cp.async.cg.shared::cta.global [%0], [%1], 16, %2;" ::"r"(dst.address), "l"(src), "r"(src_bytes)
               : "memory");
}

// Data Movement and Conversion Instructions: cp.async.commit_group, sm_80. Closes a group, an empty one too.
FOVEA_INLINE void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Data Movement and Conversion Instructions: cp.async.wait_group, sm_80. Leaves at most the kPending newest groups.
template <int kPending>
FOVEA_INLINE void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Data Movement and Conversion Instructions: cp.async.wait_all, sm_80.
FOVEA_INLINE void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Parallel Synchronization and Communication Instructions: cp.async.mbarrier.arrive, sm_80. Arrives once when all
// earlier copies of this thread are done; pending is raised by one first, so the barrier's count ignores it.
FOVEA_INLINE void cp_async_mbarrier_arrive(SmemPtr mbar) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(mbar.address) : "memory");
}
// The barrier's count includes this arrival.
FOVEA_INLINE void cp_async_mbarrier_arrive_noinc(SmemPtr mbar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(mbar.address) : "memory");
}

}  // namespace fovea::isa
