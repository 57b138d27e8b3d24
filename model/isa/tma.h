// Bulk and tensor copies (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor",
// "cp.reduce.async.bulk.tensor", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group"; SM90). The first coordinate
// indexes the contiguous dimension.
#pragma once

#include "config.h"

namespace fovea::isa {

namespace detail {
template <class... Coords>
FOVEA_INLINE void tma(model::TmaOp op, const TensorMap* map, SmemPtr smem, SmemPtr mbar, bool multicast, u32 mask,
                      Coords... coords) {
  static_assert(sizeof...(Coords) >= 1 && sizeof...(Coords) <= 5);
  model::this_thread().tma(
      {op, sizeof...(Coords), map, smem.address, mbar.address, {static_cast<i32>(coords)...}, multicast, mask});
}
}  // namespace detail

FOVEA_INLINE void tma_load_1d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0) {
  detail::tma(model::TmaOp::load, map, dst, mbar, false, 0, c0);
}
FOVEA_INLINE void tma_load_2d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1) {
  detail::tma(model::TmaOp::load, map, dst, mbar, false, 0, c0, c1);
}
FOVEA_INLINE void tma_load_3d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2) {
  detail::tma(model::TmaOp::load, map, dst, mbar, false, 0, c0, c1, c2);
}
FOVEA_INLINE void tma_load_4d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3) {
  detail::tma(model::TmaOp::load, map, dst, mbar, false, 0, c0, c1, c2, c3);
}
FOVEA_INLINE void tma_load_5d(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  detail::tma(model::TmaOp::load, map, dst, mbar, false, 0, c0, c1, c2, c3, c4);
}

FOVEA_INLINE void tma_load_2d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, u16 mask) {
  detail::tma(model::TmaOp::load, map, dst, mbar, true, mask, c0, c1);
}
FOVEA_INLINE void tma_load_3d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2,
                                        u16 mask) {
  detail::tma(model::TmaOp::load, map, dst, mbar, true, mask, c0, c1, c2);
}
FOVEA_INLINE void tma_load_4d_multicast(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3,
                                        u16 mask) {
  detail::tma(model::TmaOp::load, map, dst, mbar, true, mask, c0, c1, c2, c3);
}

// With an L2 cache policy: a hint, without meaning here.
FOVEA_INLINE void tma_load_2d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, u64 /*policy*/) {
  tma_load_2d(dst, map, mbar, c0, c1);
}
FOVEA_INLINE void tma_load_3d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2,
                                   u64 /*policy*/) {
  tma_load_3d(dst, map, mbar, c0, c1, c2);
}
FOVEA_INLINE void tma_load_4d_hint(SmemPtr dst, const TensorMap* map, SmemPtr mbar, i32 c0, i32 c1, i32 c2, i32 c3,
                                   u64 /*policy*/) {
  tma_load_4d(dst, map, mbar, c0, c1, c2, c3);
}

FOVEA_INLINE void tma_store_1d(const TensorMap* map, SmemPtr src, i32 c0) {
  detail::tma(model::TmaOp::store, map, src, {0}, false, 0, c0);
}
FOVEA_INLINE void tma_store_2d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1) {
  detail::tma(model::TmaOp::store, map, src, {0}, false, 0, c0, c1);
}
FOVEA_INLINE void tma_store_3d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2) {
  detail::tma(model::TmaOp::store, map, src, {0}, false, 0, c0, c1, c2);
}
FOVEA_INLINE void tma_store_4d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3) {
  detail::tma(model::TmaOp::store, map, src, {0}, false, 0, c0, c1, c2, c3);
}
FOVEA_INLINE void tma_store_5d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  detail::tma(model::TmaOp::store, map, src, {0}, false, 0, c0, c1, c2, c3, c4);
}

FOVEA_INLINE void tma_reduce_add_1d(const TensorMap* map, SmemPtr src, i32 c0) {
  detail::tma(model::TmaOp::reduce_add, map, src, {0}, false, 0, c0);
}
FOVEA_INLINE void tma_reduce_add_2d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1) {
  detail::tma(model::TmaOp::reduce_add, map, src, {0}, false, 0, c0, c1);
}
FOVEA_INLINE void tma_reduce_add_3d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2) {
  detail::tma(model::TmaOp::reduce_add, map, src, {0}, false, 0, c0, c1, c2);
}
FOVEA_INLINE void tma_reduce_add_4d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3) {
  detail::tma(model::TmaOp::reduce_add, map, src, {0}, false, 0, c0, c1, c2, c3);
}
FOVEA_INLINE void tma_reduce_add_5d(const TensorMap* map, SmemPtr src, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  detail::tma(model::TmaOp::reduce_add, map, src, {0}, false, 0, c0, c1, c2, c3, c4);
}
FOVEA_INLINE void prefetch_tensormap(const TensorMap* map) { model::this_thread().prefetch_tensormap(map); }

FOVEA_INLINE void bulk_load(SmemPtr dst, const void* src, u32 bytes, SmemPtr mbar) {
  model::this_thread().bulk(model::BulkOp::load, dst.address, const_cast<void*>(src), 0, bytes, mbar.address);
}
FOVEA_INLINE void bulk_store(void* dst, SmemPtr src, u32 bytes) {
  model::this_thread().bulk(model::BulkOp::store, src.address, dst, 0, bytes, 0);
}
FOVEA_INLINE void bulk_reduce_add_f32(f32* dst, SmemPtr src, u32 bytes) {
  model::this_thread().bulk(model::BulkOp::reduce_add_f32, src.address, dst, 0, bytes, 0);
}
FOVEA_INLINE void bulk_copy_cluster(SmemPtr remote_dst, SmemPtr src, u32 bytes, SmemPtr remote_mbar) {
  model::this_thread().bulk(model::BulkOp::copy_cluster, src.address, nullptr, remote_dst.address, bytes,
                            remote_mbar.address);
}
FOVEA_INLINE void bulk_commit_group() { model::this_thread().bulk_commit_group(); }
template <int kNewestPending>
FOVEA_INLINE void bulk_wait_group() {
  model::this_thread().bulk_wait_group(static_cast<u32>(kNewestPending), false);
}
template <int kNewestPending>
FOVEA_INLINE void bulk_wait_group_read() {
  model::this_thread().bulk_wait_group(static_cast<u32>(kNewestPending), true);
}

}  // namespace fovea::isa
