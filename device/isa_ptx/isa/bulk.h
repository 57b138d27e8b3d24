// Copies and reductions of contiguous bytes by the copy engine. Addresses and sizes are multiples of 16. Loads count
// their bytes at an mbarrier; stores and reductions are waited for by bulk groups of the issuing thread. One thread
// issues each. Boxes of tensors are in tma.h.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: cp.async.bulk, sm_90.
FOVEA_INLINE void bulk_load(SmemPtr dst, const void* src, u32 bytes, SmemPtr mbar) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst.address),
               "l"(src), "r"(bytes), "r"(mbar.address)
               : "memory");
}
FOVEA_INLINE void bulk_store(void* dst, SmemPtr src, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(src.address), "r"(bytes)
               : "memory");
}
// To the shared memory of another CTA of the cluster, whose barrier counts the bytes.
FOVEA_INLINE void bulk_copy_cluster(SmemPtr remote_dst, SmemPtr src, u32 bytes, SmemPtr remote_mbar) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   remote_dst.address),
               "r"(src.address), "r"(bytes), "r"(remote_mbar.address)
               : "memory");
}

// Data Movement and Conversion Instructions: cp.reduce.async.bulk, sm_90. Each element is added atomically, relaxed,
// device scope; subnormal results become zero.
FOVEA_INLINE void bulk_reduce_add_f32(f32* dst, SmemPtr src, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(dst),
               "r"(src.address), "r"(bytes)
               : "memory");
}

// Data Movement and Conversion Instructions: cp.async.bulk.commit_group, sm_90.
FOVEA_INLINE void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Data Movement and Conversion Instructions: cp.async.bulk.wait_group, sm_90. Leaves at most the kPending newest
// groups.
template <int kPending>
FOVEA_INLINE void bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
// Until the sources have been read and may be overwritten.
template <int kPending>
FOVEA_INLINE void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

}  // namespace fovea::isa
