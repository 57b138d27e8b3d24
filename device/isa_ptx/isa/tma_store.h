// Boxes from shared memory to a tensor in global memory by the copy engine, plain or added to what is there. Parts
// outside the tensor are dropped above its extents; a negative coordinate is an error. Before:
// fence_proxy_async_shared_cta by the writing threads and a barrier. After: bulk_commit_group and a wait by the issuing
// thread (bulk.h).
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: cp.async.bulk.tensor, sm_90.
FOVEA_INLINE void tma_store_1d(const TensorMap* map, SmemPtr src, i32 c0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(map), "r"(src.address),
               "r"(c0)
               : "memory");
}
FOVEA_INLINE void tma_store_2d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1)
               : "memory");
}
FOVEA_INLINE void tma_store_3d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
FOVEA_INLINE void tma_store_4d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
FOVEA_INLINE void tma_store_5d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}

// Data Movement and Conversion Instructions: cp.reduce.async.bulk.tensor, sm_90.
FOVEA_INLINE void tma_reduce_add_1d(const TensorMap* map, SmemPtr src, i32 c0) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%0, {%2}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0)
               : "memory");
}
FOVEA_INLINE void tma_reduce_add_2d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1)
               : "memory");
}
FOVEA_INLINE void tma_reduce_add_3d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(src.address), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
FOVEA_INLINE void tma_reduce_add_4d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
      "r"(src.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
FOVEA_INLINE void tma_reduce_add_5d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(src.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

}  // namespace fovea::isa
