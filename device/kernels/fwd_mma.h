// fwd_mma: attention forward with mma.sync and cp.async, SM80 and up. One CTA computes tile_m query rows of one head:
// it keeps Q in shared memory, runs over the key blocks that its rows see, last one first, through a ring of K/V
// stages, and keeps the running softmax and the output in registers (FlashAttention-2, algorithm 1).
#pragma once

#include "attention/epilogue.h"
#include "attention/mask_blocks.h"
#include "attention/schedule.h"
#include "attention/score_views.h"
#include "attention/softmax.h"
#include "attention/value_classes.h"
#include "attention/visibility.h"
#include "tile/copy.h"
#include "tile/copy_any.h"
#include "tile/ldmatrix.h"
#include "tile/mma.h"

namespace fovea::kernels {

// What a warp holds: 16-row blocks of scores and output, and their statistics.
template <FwdSpec kSpec>
struct FwdMmaWarp {
  static constexpr i32 kRowBlocks = kSpec.rows_per_warp / 16;
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.head_dim_v / 8;
  Array<Array<FragC, kOutTiles>, kRowBlocks> o;
  Array<RowStats, kRowBlocks> stats;
};

template <FwdSpec kSpec>
using FwdScores = Array<Array<FragC, FwdMmaWarp<kSpec>::kKeyTiles>, FwdMmaWarp<kSpec>::kRowBlocks>;

template <FwdSpec kSpec>
using QView = LdmatrixView<kSpec.q_tile(), LdmatrixPattern::a_row_major>;
template <FwdSpec kSpec>
using KView = LdmatrixView<kSpec.k_tile(), LdmatrixPattern::b_k_major>;
template <FwdSpec kSpec>
using VView = LdmatrixView<kSpec.v_tile(), LdmatrixPattern::b_n_major>;

// S = Q K^T for the warp's rows and one key block.
template <FwdSpec kSpec>
FOVEA_INLINE void score_product(FwdScores<kSpec>& s, const QView<kSpec>& q, const KView<kSpec>& k) {
  using Warp = FwdMmaWarp<kSpec>;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 tile = 0; tile < Warp::kKeyTiles; ++tile) s[block][tile] = zero_accumulator();
  }
  FOVEA_UNROLL
  for (u32 col = 0; col < static_cast<u32>(kSpec.head_dim_qk); col += 16) {
    Array<FragA, Warp::kRowBlocks> a;
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) a[block] = load_a(q, static_cast<u32>(16 * block), col);
    FOVEA_UNROLL
    for (i32 tile = 0; tile < Warp::kKeyTiles; tile += 2) {
      const FragBPair b = load_b(k, static_cast<u32>(8 * tile), col);
      FOVEA_UNROLL
      for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
        mma<kSpec.element>(s[block][tile], a[block], b.tile[0]);
        mma<kSpec.element>(s[block][tile + 1], a[block], b.tile[1]);
      }
    }
  }
}

// What a tile works on: the call, its tile, and the sequence the tile belongs to.
struct FwdTask {
  const FwdParams& p;
  FwdTile tile;
  FwdSequence seq;
};

// clean: every query sees every key of the block. ragged: some element is hidden, or has a bias.
enum class Blocks : u8 { clean, ragged };

// Calls use(block, half, row) for each row of scores that a lane holds; `row` is that of half 0 of block 0.
template <FwdSpec kSpec, class Use>
FOVEA_INLINE void for_each_row(i32 row, const Use& use) {
  FOVEA_UNROLL
  for (i32 i = 0; i < 2 * FwdMmaWarp<kSpec>::kRowBlocks; ++i) use(i / 2, i % 2, row + 16 * (i / 2) + 8 * (i % 2));
}

// Mask and bias of a warp's rows and one key block, where the call has them.
template <FwdSpec kSpec>
class BlockViews {
  static constexpr i32 kRowBlocks = FwdMmaWarp<kSpec>::kRowBlocks;
  FOVEA_INLINE static bool biased(const FwdParams& p) {
    return kSpec.score == ScoreForm::biased && (kSpec.loads != Loads::any || p.bias.data != nullptr);
  }

 public:
  FOVEA_INLINE void fetch(const FwdTask& task, const ViewBases& bases, i32 lane_row, i32 key0) {
    const FwdParams& p = task.p;
    const auto row_of = [&](const ScoreTensor& view, i64 base, i32 row) {
      const i32 query = query_of<kSpec>(p, row);
      return view_row<kSpec>(view, base, head_of<kSpec>(p, task.tile, row, query), query);
    };
    if (biased(p)) {
      for_each_row<kSpec>(lane_row, [&](i32 block, i32 half, i32 row) {
        bias_[block][half].fetch(p, row_of(p.bias, bases.bias, row), key0);
      });
    }
    if (p.mask.data != nullptr) {
      for_each_row<kSpec>(lane_row, [&](i32 block, i32 half, i32 row) {
        mask_[block][half].fetch(p, row_of(p.mask, bases.mask, row), key0);
      });
    }
  }

  // exact: see RowBias.
  FOVEA_INLINE void apply(FwdScores<kSpec>& s, const FwdParams& p, bool exact) const {
    if (biased(p)) {
      if (exact) {
        for_each_row<kSpec>(
            0, [&](i32 block, i32 half, i32) { bias_[block][half].template apply<true>(s[block], half, p); });
      } else {
        for_each_row<kSpec>(
            0, [&](i32 block, i32 half, i32) { bias_[block][half].template apply<false>(s[block], half, p); });
      }
    }
    if (p.mask.data != nullptr) {
      for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) { mask_[block][half].apply(s[block], half); });
    }
  }

 private:
  Array<Array<RowBias<kSpec>, 2>, kRowBlocks> bias_;
  Array<Array<RowMask<kSpec>, 2>, kRowBlocks> mask_;
};

// Products -> scores, where the exponent does not take the scale.
template <FwdSpec kSpec>
FOVEA_INLINE void transform_scores(FwdScores<kSpec>& s, const FwdParams& p) {
  const auto for_all = [&s](const auto& change) {
    FOVEA_UNROLL
    for (i32 block = 0; block < FwdMmaWarp<kSpec>::kRowBlocks; ++block) {
      FOVEA_UNROLL
      for (i32 i = 0; i < 4 * FwdMmaWarp<kSpec>::kKeyTiles; ++i) {
        f32& x = s[block][i / 4].reg[i % 4];
        x = change(x);
      }
    }
  };
  if (p.softcap == 0.0F) {
    for_all([&p](f32 product) { return product * p.scale; });
  } else {
    for_all([&p](f32 product) { return capped_score(product, p); });
  }
}

// Moves the rows to their maxima over this key block, with what was accumulated so far rescaled.
template <FwdSpec kSpec>
FOVEA_INLINE void raise_maxima(FwdMmaWarp<kSpec>& warp, const FwdScores<kSpec>& s, const FwdParams& p) {
  using Warp = FwdMmaWarp<kSpec>;
  const f32 scale_log2 = exponent_scale<kSpec>(p);
  Array<Array<f32, 2>, Warp::kRowBlocks> seen;
  bool rescale = false;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      seen[block][half] = row_max(s[block], half, warp.stats[block].max[half]);
      rescale = rescale || outgrown(seen[block][half], warp.stats[block].max[half], scale_log2);
    }
  }
  if (isa::vote_any(rescale)) {
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) {
        const f32 factor = raise_max(warp.stats[block], half, seen[block][half], scale_log2);
        FOVEA_UNROLL
        for (i32 n = 0; n < Warp::kOutTiles; ++n) {
          warp.o[block][n].reg[2 * half] *= factor;
          warp.o[block][n].reg[2 * half + 1] *= factor;
        }
      }
    }
  }
}

// Subtracts a row's maximum from its scores where the maximum times the exponent's scale is out of range.
template <FwdSpec kSpec>
FOVEA_INLINE void subtract_far_maxima(FwdScores<kSpec>& s, const FwdMmaWarp<kSpec>& warp, const FwdParams& p) {
  for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
    const f32 base = far_base(warp.stats[block].max[half], exponent_scale<kSpec>(p));
    FOVEA_UNROLL
    for (i32 i = 0; i < 2 * FwdMmaWarp<kSpec>::kKeyTiles; ++i) s[block][i / 2].reg[2 * half + i % 2] -= base;
  });
}

// Scores -> weights, a pair of n8 tiles at a time and element by element, so that exponentials run between the products
// of the pair before.
template <FwdSpec kSpec>
class Weights {
  using Warp = FwdMmaWarp<kSpec>;
  static constexpr i32 kPairElements = 8 * Warp::kRowBlocks;

 public:
  // `far`: scores went through subtract_far_maxima().
  FOVEA_INLINE Weights(FwdScores<kSpec>& s, Warp& warp, const FwdParams& p, bool far)
      : s_(s), warp_(warp), scale_log2_(exponent_scale<kSpec>(p)) {
    FOVEA_UNROLL
    for (i32 i = 0; i < 2 * Warp::kRowBlocks; ++i) {
      const f32 max = warp.stats[i / 2].max[i % 2];
      shift_[i] = (softmax_base(max) - (far ? far_base(max, scale_log2_) : 0.0F)) * scale_log2_;
      sum_[2 * i] = warp.stats[i / 2].sum[i % 2];  // two chains of additions: half the latency
      sum_[2 * i + 1] = 0.0F;
    }
  }

  // Part `part` of `parts` of the tiles `tile` and tile + 1.
  FOVEA_INLINE void weigh_part(i32 tile, i32 part, i32 parts) {
    FOVEA_UNROLL
    for (i32 i = part * kPairElements / parts; i < (part + 1) * kPairElements / parts; ++i) {
      const i32 block = i / 8;
      const i32 reg = i % 4;
      const i32 row = 2 * block + reg / 2;
      weigh(s_[block][tile + i / 4 % 2].reg[reg], sum_[2 * row + reg % 2], scale_log2_, shift_[row]);
    }
  }

  FOVEA_INLINE void finish() {
    FOVEA_UNROLL
    for (i32 i = 0; i < 2 * Warp::kRowBlocks; ++i) warp_.stats[i / 2].sum[i % 2] = sum_[2 * i] + sum_[2 * i + 1];
  }

 private:
  FwdScores<kSpec>& s_;
  Warp& warp_;
  f32 scale_log2_;
  Array<f32, 2 * Warp::kRowBlocks> shift_;
  Array<f32, 4 * Warp::kRowBlocks> sum_;
};

// O += P V for the warp's rows and one key block; P is s as weights, narrowed. The exponentials of the next pair of key
// tiles run between the products of this one. far: see Weights.
template <FwdSpec kSpec>
FOVEA_INLINE void value_product(FwdMmaWarp<kSpec>& warp, FwdScores<kSpec>& s, const VView<kSpec>& v, const FwdParams& p,
                                bool far) {
  using Warp = FwdMmaWarp<kSpec>;
  Weights<kSpec> weights(s, warp, p, far);
  weights.weigh_part(0, 0, 1);
  FOVEA_UNROLL
  for (i32 tile = 0; tile < Warp::kKeyTiles; tile += 2) {
    Array<FragA, Warp::kRowBlocks> a;
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      a[block] = as_a_operand<kSpec.element>(s[block][tile], s[block][tile + 1]);
    }
    FOVEA_UNROLL
    for (i32 n = 0; n < Warp::kOutTiles; n += 2) {
      const FragBPair b = load_b(v, static_cast<u32>(8 * tile), static_cast<u32>(8 * n));
      FOVEA_UNROLL
      for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
        mma<kSpec.element>(warp.o[block][n], a[block], b.tile[0]);
        mma<kSpec.element>(warp.o[block][n + 1], a[block], b.tile[1]);
      }
      if (tile + 2 < Warp::kKeyTiles) weights.weigh_part(tile + 2, n / 2, Warp::kOutTiles / 2);
    }
  }
  weights.finish();
}

// Normalises and writes the warp's rows; 16-bit output is only staged, the CTA stores it after a barrier. Rows that are
// no queries are empty rows. `row` is the lane's first, `warp_row` the warp's first row in the tile.
template <FwdSpec kSpec>
FOVEA_INLINE void finish_warp(const FwdMmaWarp<kSpec>& warp, const FwdTask& task, i32 row, SmemPtr stage,
                              i32 warp_row) {
  using Warp = FwdMmaWarp<kSpec>;
  const FwdParams& p = task.p;
  f32 sink = kMinusInfinity;
  if (kSpec.rows == Rows::head && p.sink != nullptr) {
    sink = isa::ld_global<f32>(p.sink + task.tile.head_q * p.sink_stride);
  }
  const LdmatrixView<kSpec.o_tile(), LdmatrixPattern::a_row_major> o_view(stage);
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    Array<f32, 2> factor;
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const RowPlace place = row_place<kSpec>(p, task.seq, task.tile, row + 16 * block + 8 * half);
      const bool inside = place.query < task.seq.q_rows;
      if (kSpec.rows == Rows::group && p.sink != nullptr) {
        sink = isa::ld_global<f32>(p.sink + place.head * p.sink_stride);
      }
      const f32 max = warp.stats[block].max[half];
      const f32 sum = quad_sum(warp.stats[block].sum[half]);
      const RowResult result =
          place.query < task.seq.q_used ? finish_row(max * natural_scale<kSpec>(p), sum, sink) : kEmptyRow;
      if (p.lse != nullptr && inside && (isa::laneid() & 3U) == 0) {
        f32* lse = lse_of(p, task.seq, task.tile, place);
        if (p.num_splits == 1) {
          isa::st_global<f32>(lse, result.lse);
        } else {
          const bool query = place.query < task.seq.q_used;
          isa::st_global<f32>(lse, query ? max * natural_scale<kSpec>(p) : kMinusInfinity);
          isa::st_global<f32>(lse + 1, query ? sum : 0.0F);
        }
      }
      if constexpr (kSpec.out == Element::fp32) {
        f32* out = static_cast<f32*>(p.out.data) + place.out;
        if (inside) store_row_f32<kSpec>(out, warp.o[block], half, result.factor, p.head_dim_v);
      }
      factor[half] = result.factor;
    }
    if constexpr (kSpec.out != Element::fp32) {
      stage_block<kSpec>(o_view, static_cast<u32>(warp_row + 16 * block), warp.o[block], factor);
    }
  }
}

// K and V of one kv head, block by block into the stages of shared memory.
template <FwdSpec kSpec>
class KeyLoader {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);

 public:
  FOVEA_INLINE KeyLoader(const FwdTask& task, SmemPtr smem)
      : smem_(smem), kv_used_(task.seq.kv_used), k_(source(task.p.k, task)), v_(source(task.p.v, task)) {}

  FOVEA_INLINE SmemPtr k_tile(i32 slot) const {
    return smem_ + kSmem.stage0 + static_cast<u32>(slot) * kSmem.stage_bytes;
  }
  FOVEA_INLINE SmemPtr v_tile(i32 slot) const { return k_tile(slot) + kSmem.v_in_stage; }

  FOVEA_INLINE void load(i32 block, i32 slot) const {
    const i32 key0 = block * kSpec.tile_n;
    k_.copy(k_tile(slot), key0, kv_used_ - key0);
    v_.copy(v_tile(slot), key0, kv_used_ - key0);
  }

 private:
  // Rows of a head from the sequence's first key on.
  FOVEA_INLINE static GmemRows<16> source(const RowTensor& tensor, const FwdTask& task) {
    const i64 element = task.seq.kv_batch * tensor.stride_b + static_cast<i64>(task.seq.kv_begin) * tensor.stride_s +
                        task.tile.head_kv * tensor.stride_h;
    return {static_cast<const u8*>(tensor.data) + 2 * element, 2 * tensor.stride_s};
  }

  SmemPtr smem_;
  i32 kv_used_;
  RowCopy<kSpec.k_tile(), RowOrder::keys, kSpec.threads(), 16> k_;
  RowCopy<kSpec.v_tile(), RowOrder::keys, kSpec.threads(), 16> v_;
};

// The same for rows of any kind.
template <FwdSpec kSpec>
requires(kSpec.loads != Loads::vector) class KeyLoader<kSpec> {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);

 public:
  FOVEA_INLINE KeyLoader(const FwdTask& task, SmemPtr smem)
      : smem_(smem), task_(task), k_(task.p.head_dim_qk, task.p.align_qkv), v_(task.p.head_dim_v, task.p.align_qkv) {}

  FOVEA_INLINE SmemPtr k_tile(i32 slot) const {
    return smem_ + kSmem.stage0 + static_cast<u32>(slot) * kSmem.stage_bytes;
  }
  FOVEA_INLINE SmemPtr v_tile(i32 slot) const { return k_tile(slot) + kSmem.v_in_stage; }

  FOVEA_INLINE void load(i32 block, i32 slot) const {
    const FwdParams& p = task_.p;
    const i32 key0 = block * kSpec.tile_n;
    k_.copy(k_tile(slot), task_.seq.kv_used - key0, [&](i32 row) { return row_at(p.k, key0 + row); });
    v_.copy(v_tile(slot), task_.seq.kv_used - key0, [&](i32 row) { return row_at(p.v, key0 + row); });
  }

 private:
  FOVEA_INLINE const u8* row_at(const RowTensor& tensor, i32 key) const {
    const FwdParams& p = task_.p;
    i64 outer = task_.seq.kv_batch;
    i64 inner = static_cast<i64>(task_.seq.kv_begin) + key;
    if (kSpec.loads == Loads::paged || p.page_table != nullptr) {
      const i32 index = p.page_shift >= 0 ? key >> p.page_shift : key / p.page_size;
      const i32* entry = p.page_table + task_.seq.batch * p.page_b + index * p.page_p;
      outer = max(0, min(static_cast<i32>(isa::ld_global_nc<u32>(entry)), p.num_pages - 1));
      inner = key - index * p.page_size;
    }
    return static_cast<const u8*>(tensor.data) +
           2 * (outer * tensor.stride_b + inner * tensor.stride_s + task_.tile.head_kv * tensor.stride_h);
  }

  SmemPtr smem_;
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
    AnyRowCopy<kSpec.q_tile(), RowOrder::plain, kSpec.threads(), kSpec.loads>(p.head_dim_qk, p.align_qkv)
        .copy(target, valid, [&](i32 row) {
          const i32 query = query_of<kSpec>(p, row0 + row);
          const i32 head = head_of<kSpec>(p, task.tile, row0 + row, query);
          return data + 2 * (element + query * p.q.stride_s + head * p.q.stride_h);
        });
  } else {
    const GmemRows<16> rows{data + 2 * (element + task.tile.head_q * p.q.stride_h), 2 * p.q.stride_s};
    RowCopy<kSpec.q_tile(), RowOrder::plain, kSpec.threads(), 16>(rows).copy(target, row0, valid);
  }
}

// One CTA's work on its tile.
template <FwdSpec kSpec>
class FwdMma {
  using Warp = FwdMmaWarp<kSpec>;
  static constexpr SmemPlan kSmem = plan_smem(kSpec);
  static constexpr i32 kAhead = kSpec.stages - 1;  // stages that are loaded before they are needed

 public:
  FOVEA_INLINE FwdMma(const FwdTask& task, SmemPtr smem)
      : task_(task),
        view_bases_{view_base<kSpec>(task.p.bias, task.tile), view_base<kSpec>(task.p.mask, task.tile)},
        blocks_(key_blocks<kSpec>(task.p, task.seq, task.tile)),
        smem_(smem),
        warp_row_(static_cast<i32>(isa::tid_x() / 32U) * kSpec.rows_per_warp),
        lane_row_(task.tile.row0 + warp_row_ + static_cast<i32>(isa::laneid() >> 2U)),
        keys_(task, smem),
        q_view_(smem + kSmem.q + static_cast<u32>(warp_row_) * SmemTile::kRowBytes) {}

  // The tile's sums over its keys. When they are not finite, again for each class of V elements; see value_classes.h.
  // All threads leave it together, and the stages are free then.
  FOVEA_INLINE void accumulate() {
    load_queries<kSpec>(task_, smem_ + kSmem.q);
    isa::cp_async_commit_group();
    Array<Infinities<Warp::kOutTiles>, Warp::kRowBlocks> infinities;
    while (true) {
      reset();
      if constexpr (kSpec.views()) {
        run_looking();
      } else {
        run_positions();
      }
      isa::cp_async_wait_group<0>();
      if (class_ == ValueClass::finite) break;
      if (class_ == ValueClass::all) {
        f32 zero = 0;
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) zero += finiteness(warp_.o[block]);
        // redux: a value that the compiler knows to be the same for the warp, so that loops stay uniform.
        if (isa::redux_or(isa::bar_red_or(0, kSpec.threads(), !(zero == 0.0F)) ? 1U : 0U) == 0U) return;
        blocks_.clean_first = blocks_.clean_last = blocks_.first;  // ragged blocks look at the class
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].clear();
      } else {
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].add(warp_.o[block], class_);
        isa::syncthreads();
      }
      class_ = static_cast<ValueClass>(static_cast<u32>(class_) - 1U);
    }
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].apply(warp_.o[block]);
    isa::syncthreads();
  }

  // Writes the results. Nobody may read Q, K or V any more: their space takes the output.
  FOVEA_INLINE void finish() {
    finish_warp<kSpec>(warp_, task_, lane_row_, smem_, warp_row_);
    if constexpr (kSpec.out != Element::fp32) {
      isa::syncthreads();
      store_rows<kSpec>(smem_, task_.p, task_.seq, task_.tile);
    }
  }

 private:
  FOVEA_INLINE void reset() {
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      warp_.stats[block] = empty_rows();
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) {
        const i32 row = lane_row_ + 16 * block + 8 * half;
        if (query_of<kSpec>(task_.p, row) >= task_.seq.q_used) warp_.stats[block].max[half] = kNoQuery;
      }
      FOVEA_UNROLL
      for (i32 n = 0; n < Warp::kOutTiles; ++n) warp_.o[block][n] = zero_accumulator();
    }
    slot_ = 0;
    next_slot_ = kAhead;
  }

  // Waits until the next block's tiles are there; the stage that was computed last is then free.
  FOVEA_INLINE void await_block() {
    isa::cp_async_wait_group<kAhead - 1>();  // this step's tiles have landed for this thread,
    isa::syncthreads();                      // for all; and all are done with the stage that is filled next
  }

  template <Blocks kBlocks>
  FOVEA_INLINE void compute(i32 block) {
    constexpr bool kRagged = kBlocks == Blocks::ragged;
    const i32 key0 = block * kSpec.tile_n;
    if (kRagged && class_ != ValueClass::all) {
      keep_class<kSpec>(keys_.v_tile(slot_), class_);
      isa::syncthreads();
    }
    BlockViews<kSpec> views;
    if constexpr (kRagged && kSpec.prefetch_views()) views.fetch(task_, view_bases_, lane_row_, key0);
    FwdScores<kSpec> s;
    score_product<kSpec>(s, q_view_, KView<kSpec>(keys_.k_tile(slot_)));
    // A bias in whole vectors takes the scale with it.
    constexpr bool kScaledByBias = kSpec.score == ScoreForm::biased && kSpec.loads != Loads::any;
    if constexpr (!kSpec.folded_scale() && !kScaledByBias) transform_scores<kSpec>(s, task_.p);
    if constexpr (kRagged && kSpec.views()) {
      if constexpr (!kSpec.prefetch_views()) views.fetch(task_, view_bases_, lane_row_, key0);
      views.apply(s, task_.p, kSpec.loads == Loads::any || class_ != ValueClass::all);
    }
    if (kRagged && (!kSpec.views() || block < blocks_.clean_first || block >= blocks_.clean_last)) {
      for_each_row<kSpec>(lane_row_, [&](i32 row_block, i32 half, i32 row) {
        hide_row(s[row_block], half, task_.seq, query_of<kSpec>(task_.p, row), key0);
      });
    }
    if (kRagged && counts_keys(class_)) {
      FOVEA_UNROLL
      for (i32 row_block = 0; row_block < Warp::kRowBlocks; ++row_block) level_visible(s[row_block]);
    }
    raise_maxima<kSpec>(warp_, s, task_.p);
    const bool far = kRagged && class_ != ValueClass::all;
    if (far) subtract_far_maxima<kSpec>(s, warp_, task_.p);
    value_product<kSpec>(warp_, s, VView<kSpec>(keys_.v_tile(slot_)), task_.p, far);
    advance();
  }

  FOVEA_INLINE void advance() {
    next_slot_ = slot_;
    slot_ = slot_ == kSpec.stages - 1 ? 0 : slot_ + 1;
  }

  // Position rules alone: ragged blocks at the right edge, clean ones, ragged ones at the left edge, without a look at
  // anything but their numbers; each kind of loop exists once. Steps count from the last block to the first.
  FOVEA_INLINE void run_positions() {
    const i32 steps = blocks_.last - blocks_.first;
    const auto load_step = [&](i32 step, i32 slot) {
      if (step < steps) keys_.load(blocks_.last - 1 - step, slot);
      isa::cp_async_commit_group();
    };
    for (i32 step = 0; step < kAhead; ++step) load_step(step, step);
    i32 step = 0;
    const auto run_until = [&]<Blocks kBlocks>(i32 last_step) {
      for (; step < last_step; ++step) {
        await_block();
        load_step(step + kAhead, next_slot_);
        compute<kBlocks>(blocks_.last - 1 - step);
      }
    };
    const i32 clean_begin = blocks_.last - blocks_.clean_last;
    const i32 clean_end = blocks_.last - blocks_.clean_first;
    while (step < steps) {
      if (step >= clean_begin) run_until.template operator()<Blocks::clean>(clean_end);
      run_until.template operator()<Blocks::ragged>(step < clean_begin ? clean_begin : steps);
    }
  }

  // Blocks that are looked at first, kBlocksPerLook at a time; those whose mask is empty are passed over.
  FOVEA_INLINE void run_looking() {
    for (i32 last = blocks_.last; last > blocks_.first; last -= kBlocksPerLook) {
      const i32 count = min(kBlocksPerLook, last - blocks_.first);
      BlockBits bits{~0U, ~0U};
      if (task_.p.mask.data != nullptr) {
        bits = mask_blocks<kSpec>(task_.p, task_.seq, task_.tile, last - count, last, smem_ + kSmem.mask_words);
      }
      if (count < kBlocksPerLook) bits.some &= (1U << static_cast<u32>(count)) - 1U;
      run_marked(bits, last);
    }
  }

  FOVEA_INLINE void run_marked(const BlockBits& bits, i32 last) {
    u32 to_load = bits.some;
    const auto take = [last](u32& marked) {
      const u32 index = isa::popc((marked & (0U - marked)) - 1U);
      marked &= marked - 1U;
      return last - 1 - static_cast<i32>(index);
    };
    const auto load_next = [&](i32 slot) {
      if (to_load != 0) keys_.load(take(to_load), slot);
      isa::cp_async_commit_group();
    };
    isa::syncthreads();  // the stages are free
    slot_ = 0;
    next_slot_ = kAhead;
    for (i32 slot = 0; slot < kAhead; ++slot) load_next(slot);
    for (u32 to_do = bits.some; to_do != 0;) {
      const i32 block = take(to_do);
      await_block();
      load_next(next_slot_);
      const bool every = ((bits.every >> static_cast<u32>(last - 1 - block)) & 1U) != 0;
      const bool clean = block >= blocks_.clean_first && block < blocks_.clean_last;
      if (kSpec.score == ScoreForm::masked && every && clean) {
        compute<Blocks::clean>(block);
      } else {
        compute<Blocks::ragged>(block);
      }
    }
  }

  const FwdTask& task_;
  ViewBases view_bases_;  // kSpec.views() only
  KeyBlocks blocks_;
  SmemPtr smem_;
  i32 warp_row_, lane_row_;
  KeyLoader<kSpec> keys_;
  QView<kSpec> q_view_;
  Warp warp_;
  ValueClass class_ = ValueClass::all;  // of V elements that count
  i32 slot_ = 0;                        // of the step that is computed
  i32 next_slot_ = 0;                   // of the step that is loaded meanwhile
};

template <FwdSpec kSpec>
FOVEA_INLINE void fwd_mma(const FwdParams& p) {
  static_assert(well_formed(kSpec));
  FwdTile tile;
  if (!fwd_tile<kSpec>(p, tile)) return;
  const FwdTask task{p, tile, fwd_sequence(p, tile.batch)};
  if (query_of<kSpec>(p, tile.row0) >= task.seq.q_rows) return;
  FwdMma<kSpec> mma(task, SmemPtr{isa::smem_base()});
  mma.accumulate();
  mma.finish();
}

}  // namespace fovea::kernels
