// Boxes of a tensor from global to shared memory by the copy engine. The map describes tensor, box and swizzle;
// c0 is the element index in the contiguous dimension; what lies outside the tensor becomes zero. `dst` is 128-byte
// aligned; the barrier counts the bytes of the whole box, outside parts included. One thread issues each.
#pragma once

#include "isa/bulk.h"
#include "isa/config.h"
#include "isa/tma_store.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: prefetch, sm_90.
FOVEA_INLINE void prefetch_tensormap(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Data Movement and Conversion Instructions: cp.async.bulk.tensor, sm_90.
FOVEA_INLINE void tma_load_1d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
                   dst.address),
               "l"(map), "r"(mbar.address), "r"(c0)
               : "memory");
}
FOVEA_INLINE void tma_load_2d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1)
      : "memory");
}
FOVEA_INLINE void tma_load_3d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
          dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
FOVEA_INLINE void tma_load_4d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
FOVEA_INLINE void tma_load_5d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
      "[%2];" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
// With an L2 eviction policy, as made by createpolicy.
FOVEA_INLINE void tma_load_2d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], "
      "[%2], %5;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "l"(policy)
      : "memory");
}
FOVEA_INLINE void tma_load_3d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2,
                                   u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, "
      "%5}], [%2], %6;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "l"(policy)
      : "memory");
}
FOVEA_INLINE void tma_load_4d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3,
                                   u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5, "
      "%6}], [%2], %7;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
      : "memory");
}
// To the same offsets, of tile and barrier, in every CTA of the cluster whose rank is set in `mask`.
FOVEA_INLINE void tma_load_2d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, u16 mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "h"(mask)
      : "memory");
}
FOVEA_INLINE void tma_load_3d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2,
                                        u16 mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4, %5}], [%2], %6;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "h"(mask)
      : "memory");
}
FOVEA_INLINE void tma_load_4d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3,
                                        u16 mask) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4, %5, %6}], [%2], %7;" ::"r"(dst.address),
      "l"(map), "r"(mbar.address), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "h"(mask)
      : "memory");
}

}  // namespace fovea::isa
