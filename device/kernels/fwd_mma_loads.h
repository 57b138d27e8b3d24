// How fwd_mma's tiles come into shared memory: Q once, K and V block by block; rows at one stride, through a page
// table, or of any kind.
#pragma once

#include "kernels/fwd_mma_warp.h"
#include "tile/copy.h"
#include "tile/copy_any.h"

namespace fovea::kernels {

// Where the tiles of a stage lie.
template <FwdSpec kSpec>
class StageRing {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);

 public:
  FOVEA_INLINE explicit StageRing(SmemPtr smem) : smem_(smem) {}
  FOVEA_INLINE SmemPtr k_tile(i32 slot) const {
    return smem_ + kSmem.stage0 + static_cast<u32>(slot) * kSmem.stage_bytes;
  }
  FOVEA_INLINE SmemPtr v_tile(i32 slot) const { return k_tile(slot) + kSmem.v_in_stage; }

 private:
  SmemPtr smem_;
};

// K and V of one kv head, block by block into the stages of shared memory.
template <FwdSpec kSpec>
class KeyLoader : public StageRing<kSpec> {
 public:
  FOVEA_INLINE KeyLoader(const FwdTask& task, SmemPtr smem)
      : StageRing<kSpec>(smem), kv_used_(task.seq.kv_used), k_(source(task.p.k, task)), v_(source(task.p.v, task)) {}

  FOVEA_INLINE void load(i32 block, i32 slot) const {
    const i32 key0 = block * kSpec.tile_n;
    k_.copy(this->k_tile(slot), key0, kv_used_ - key0);
    v_.copy(this->v_tile(slot), key0, kv_used_ - key0);
  }

 private:
  // Rows of a head from the sequence's first key on.
  FOVEA_INLINE static GmemRows<16> source(const RowTensor& tensor, const FwdTask& task) {
    const i64 element = task.seq.kv_batch * tensor.stride_b + static_cast<i64>(task.seq.kv_begin) * tensor.stride_s +
                        task.tile.head_kv * tensor.stride_h;
    return {static_cast<const u8*>(tensor.data) + 2 * element, 2 * tensor.stride_s};
  }

  i32 kv_used_;
  RowCopy<kSpec.k_tile(), RowOrder::keys, kSpec.threads(), 16> k_;
  RowCopy<kSpec.v_tile(), RowOrder::keys, kSpec.threads(), 16> v_;
};

// The same for rows of any kind.
template <FwdSpec kSpec>
requires(kSpec.loads != Loads::vector) class KeyLoader<kSpec> : public StageRing<kSpec> {
 public:
  FOVEA_INLINE KeyLoader(const FwdTask& task, SmemPtr smem)
      : StageRing<kSpec>(smem),
        task_(task),
        k_(task.p.head_dim_qk, task.p.align_qkv),
        v_(task.p.head_dim_v, task.p.align_qkv) {}

  FOVEA_INLINE void load(i32 block, i32 slot) const {
    const FwdParams& p = task_.p;
    const i32 key0 = block * kSpec.tile_n;
    const i32 valid = task_.seq.kv_used - key0;
    if (!k_.wide() || !v_.wide()) {
      load_narrow(key0, valid, slot);
    } else if (!in_pages()) {
      const Place first = place(key0);
      k_.copy_at_stride(this->k_tile(slot), valid, row_of(p.k, first), 2 * p.k.stride_s);
      v_.copy_at_stride(this->v_tile(slot), valid, row_of(p.v, first), 2 * p.v.stride_s);
    } else {
      // Lanes own the same rows of K and of V where these are equally wide: one look at the table.
      const Place k_place = place(key0 + k_.owned_row());
      k_.copy_found(this->k_tile(slot), valid, row_of(p.k, k_place));
      v_.copy_found(this->v_tile(slot), valid, row_of(p.v, kAlike ? k_place : place(key0 + v_.owned_row())));
    }
  }

 private:
  static constexpr bool kAlike = kSpec.head_dim_qk == kSpec.head_dim_v;

  // Of a key: the index for stride_b and that for stride_s.
  struct Place {
    i32 outer, inner;
  };

  FOVEA_INLINE bool in_pages() const { return kSpec.loads != Loads::any || task_.p.page_table != nullptr; }

  // In pages, of a key past the used ones: that of the last one.
  FOVEA_INLINE Place place(i32 key) const {
    const FwdParams& p = task_.p;
    if (!in_pages()) return {task_.seq.kv_batch, task_.seq.kv_begin + key};
    key = min(key, task_.seq.kv_used - 1);
    const i32 index = page_index(p, key);
    return {page_of(p, task_.seq.batch, index), key - index * p.page_size};
  }

  FOVEA_INLINE void load_narrow(i32 key0, i32 valid, i32 slot) const {
    const FwdParams& p = task_.p;
    const Place k_place = place(key0 + k_.owned_row());
    if constexpr (kAlike) {
      FOVEA_ROLLED
      for (i32 i = 0; i < 2; ++i) {  // one copy in the code, which is a large one
        auto rows = k_;
        if (i == 1) rows = v_;
        rows.copy_narrow(i == 0 ? this->k_tile(slot) : this->v_tile(slot), valid,
                         row_of(either(i == 0, p.k, p.v), k_place));
      }
    } else {
      k_.copy_narrow(this->k_tile(slot), valid, row_of(p.k, k_place));
      v_.copy_narrow(this->v_tile(slot), valid, row_of(p.v, place(key0 + v_.owned_row())));
    }
  }

  FOVEA_INLINE static RowTensor either(bool first, const RowTensor& a, const RowTensor& b) {
    return {first ? a.data : b.data, first ? a.stride_b : b.stride_b, first ? a.stride_s : b.stride_s,
            first ? a.stride_h : b.stride_h};
  }

  FOVEA_INLINE const u8* row_of(const RowTensor& tensor, const Place& place) const {
    return static_cast<const u8*>(tensor.data) +
           2 * (place.outer * tensor.stride_b + place.inner * tensor.stride_s + task_.tile.head_kv * tensor.stride_h);
  }

  const FwdTask& task_;
  AnyRowCopy<kSpec.k_tile(), RowOrder::keys, kSpec.threads(), kSpec.loads> k_;
  AnyRowCopy<kSpec.v_tile(), RowOrder::keys, kSpec.threads(), kSpec.loads> v_;
};

template <FwdSpec kSpec>
FOVEA_INLINE void load_queries(const FwdTask& task, SmemPtr target) {
  const FwdParams& p = task.p;
  const i64 element = task.seq.q_batch * p.q.stride_b + static_cast<i64>(task.seq.q_begin) * p.q.stride_s;
  const u8* data = static_cast<const u8*>(p.q.data);
  const i32 row0 = task.tile.row0;
  const i32 valid = task.seq.q_used * heads_per_tile<kSpec>(p) - row0;
  if constexpr (kSpec.loads == Loads::any || kSpec.rows == Rows::group) {
    const AnyRowCopy<kSpec.q_tile(), RowOrder::plain, kSpec.threads(), kSpec.loads> rows(p.head_dim_qk, p.align_qkv);
    const auto row_at = [&](i32 tile_row) {
      const i32 row = row0 + max(0, min(tile_row, valid - 1));
      const i32 query = query_of<kSpec>(p, row);
      const i32 head = head_of<kSpec>(p, task.tile, row, query);
      return data + 2 * (element + query * p.q.stride_s + head * p.q.stride_h);
    };
    if (!rows.wide()) {
      rows.copy_narrow(target, valid, row_at(rows.owned_row()));
    } else {
      rows.copy_found(target, valid, row_at(rows.owned_row()));
    }
  } else {
    const GmemRows<16> rows{data + 2 * (element + task.tile.head_q * p.q.stride_h), 2 * p.q.stride_s};
    RowCopy<kSpec.q_tile(), RowOrder::plain, kSpec.threads(), 16>(rows).copy(target, row0, valid);
  }
}

}  // namespace fovea::kernels
