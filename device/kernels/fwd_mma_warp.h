// The arithmetic of one warp of fwd_mma on one key block: products, scores and weights, all in registers. Which blocks
// there are, and how their tiles come into shared memory, is left to fwd_mma.h and fwd_mma_loads.h.
#pragma once

#include "attention/bias_tile.h"
#include "attention/score_views.h"
#include "attention/softmax.h"
#include "attention/visibility.h"
#include "tile/ldmatrix.h"
#include "tile/mma.h"

namespace fovea::kernels {

// What a tile works on: the call, its tile, and the sequence the tile belongs to.
struct FwdTask {
  const FwdParams& p;
  FwdTile tile;
  FwdSequence seq;
};

// What a warp holds: 16-row blocks of scores and output, and their statistics.
template <FwdSpec kSpec>
struct FwdMmaWarp {
  static constexpr i32 kRowBlocks = kSpec.rows_per_warp / 16;
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.head_dim_v / 8;
  Array<Array<FragC, kOutTiles>, kRowBlocks> o;
  Array<RowStats, kRowBlocks> stats;
  // Whether the next block is looked at for maxima, as some row of the warp is unsettled, or has outgrown its own.
  // Where weights have no room to grow each block is.
  bool looks;
};

template <FwdSpec kSpec>
using FwdScores = Array<Array<FragC, FwdMmaWarp<kSpec>::kKeyTiles>, FwdMmaWarp<kSpec>::kRowBlocks>;

template <FwdSpec kSpec>
using QView = LdmatrixView<kSpec.q_tile(), LdmatrixPattern::a_row_major>;
template <FwdSpec kSpec>
using KView = LdmatrixView<kSpec.k_tile(), LdmatrixPattern::b_k_major>;
template <FwdSpec kSpec>
using VView = LdmatrixView<kSpec.v_tile(), LdmatrixPattern::b_n_major>;

template <FwdSpec kSpec>
FOVEA_INLINE void clear_scores(FwdScores<kSpec>& s) {
  FOVEA_UNROLL
  for (i32 block = 0; block < FwdMmaWarp<kSpec>::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 tile = 0; tile < FwdMmaWarp<kSpec>::kKeyTiles; ++tile) s[block][tile] = zero_accumulator();
  }
}

// S += Q K^T for the warp's rows and one key block.
template <FwdSpec kSpec>
FOVEA_INLINE void score_product(FwdScores<kSpec>& s, const QView<kSpec>& q, const KView<kSpec>& k) {
  using Warp = FwdMmaWarp<kSpec>;
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

// Calls use(block, half, row) for each row of scores that a lane holds; `row` is that of half 0 of block 0.
template <FwdSpec kSpec, class Use>
FOVEA_INLINE void for_each_row(i32 row, const Use& use) {
  FOVEA_UNROLL
  for (i32 i = 0; i < 2 * FwdMmaWarp<kSpec>::kRowBlocks; ++i) use(i / 2, i % 2, row + 16 * (i / 2) + 8 * (i % 2));
}

// Where the lane's rows of mask and bias begin. Rows of a group, which take divisions to find, are found once, where
// registers allow it.
template <FwdSpec kSpec>
class ViewRows {
  static constexpr bool kKept = kSpec.few_rows_views();

 public:
  // lane_row: the lane's first row, among the sequence's.
  FOVEA_INLINE ViewRows(const FwdTask& task, i32 lane_row)
      : task_(task),
        lane_row_(lane_row),
        bases_{view_base<kSpec>(task.p.bias, task.tile), view_base<kSpec>(task.p.mask, task.tile)} {
    if (!kKept) return;
    for_each_row<kSpec>(lane_row, [&](i32 block, i32 half, i32 row) {
      kept_[block][half] = {find(task.p.bias, bases_.bias, row), find(task.p.mask, bases_.mask, row)};
    });
  }

  FOVEA_INLINE i64 bias_base() const { return bases_.bias; }
  FOVEA_INLINE i64 bias(i32 block, i32 half) const {
    return kKept ? kept_[block][half].bias : find(task_.p.bias, bases_.bias, lane_row_ + 16 * block + 8 * half);
  }
  FOVEA_INLINE i64 mask(i32 block, i32 half) const {
    return kKept ? kept_[block][half].mask : find(task_.p.mask, bases_.mask, lane_row_ + 16 * block + 8 * half);
  }

 private:
  struct Elements {
    i64 bias, mask;
  };
  FOVEA_INLINE i64 find(const ScoreTensor& view, i64 base, i32 row) const {
    const i32 query = query_of<kSpec>(task_.p, row);
    return view_row<kSpec>(view, base, task_.tile, head_of<kSpec>(task_.p, task_.tile, row, query), query);
  }

  const FwdTask& task_;
  i32 lane_row_;
  Elements bases_;
  Array<Array<Elements, 2>, FwdMmaWarp<kSpec>::kRowBlocks> kept_;
};

// Mask and bias of a warp's rows and one key block, where the call has them.
template <FwdSpec kSpec>
class BlockViews {
  static constexpr i32 kRowBlocks = FwdMmaWarp<kSpec>::kRowBlocks;
  FOVEA_INLINE static bool biased(const FwdParams& p) {
    return kSpec.score == ScoreForm::biased && (!kSpec.open_views() || p.bias.data != nullptr);
  }

 public:
  FOVEA_INLINE void fetch(const FwdParams& p, const ViewRows<kSpec>& rows, i32 key0) {
    if (!kSpec.bias_tiles && biased(p)) {
      for_each_row<kSpec>(0,
                          [&](i32 block, i32 half, i32) { bias_[block][half].fetch(p, rows.bias(block, half), key0); });
    }
    if (p.mask.data != nullptr) {
      for_each_row<kSpec>(0,
                          [&](i32 block, i32 half, i32) { mask_[block][half].fetch(p, rows.mask(block, half), key0); });
    }
  }

  // What products begin with: the bias of a block, from `tile`.
  FOVEA_INLINE void begin(FwdScores<kSpec>& s, const FwdParams& p, const BiasTile<kSpec>& tile, i32 slot) {
    for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
      bias_[block][half].read(tile, 2 * block + half, slot);
      bias_[block][half].begin(s[block], half);
    });
    if (p.bias_scale == 1.0F) return;
    for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) { scale_row(s[block], half, p.bias_scale); });
  }

  // exact: see RowBias. With bias_tiles the bias comes from `tile`.
  FOVEA_INLINE void apply(FwdScores<kSpec>& s, const FwdParams& p, bool exact, const BiasTile<kSpec>& tile, i32 slot) {
    if constexpr (kSpec.begins_with_bias()) {
      if (exact) {
        for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
          bias_[block][half].read(tile, 2 * block + half, slot);
          bias_[block][half].hide(s[block], half);
        });
      }
    } else if (biased(p)) {
      if constexpr (kSpec.bias_tiles) {
        for_each_row<kSpec>(0,
                            [&](i32 block, i32 half, i32) { bias_[block][half].read(tile, 2 * block + half, slot); });
      }
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
  constexpr bool kCaps = kSpec.score == ScoreForm::general || kSpec.open_views();
  if (!kCaps || p.softcap == 0.0F) {
    for_all([&p](f32 product) { return product * p.scale; });
  } else {
    for_all([&p](f32 product) { return capped_score(product, p); });
  }
}

// Weights above 2^kRescaleSlack lose nothing in bf16, which has the range of fp32. So a row keeps its maximum until its
// sums say that scores have outgrown it by far; fp16 ends at 2^16.
template <FwdSpec kSpec>
inline constexpr bool kSumsTell = kSpec.element == Element::bf16;
inline constexpr f32 kLargestRunningSum = 0x1p24F;
inline constexpr f32 kLostSum = 0x1p116F;  // its inverse, by which the row would shrink, may be no normal number
// In a tile that runs again a block that would take a row's weights further, in powers of two, moves the maximum before
// they are multiplied with V: there may be no room left for the products.
inline constexpr f32 kMostGrowthAgain = 24.0F;

// Row `half` of a 16-row block takes the maximum `seen`, if that has outgrown its own: what it has accumulated shrinks.
template <FwdSpec kSpec>
FOVEA_INLINE void raise_row(FwdMmaWarp<kSpec>& warp, i32 block, i32 half, f32 seen, f32 scale_log2) {
  const f32 factor = raise_max(warp.stats[block], half, seen, scale_log2);
  scale_row(warp.o[block], half, factor);
}

// Whether some sum of the lane's says that its row has outgrown its maximum.
template <FwdSpec kSpec>
FOVEA_INLINE bool sums_outgrown(const FwdMmaWarp<kSpec>& warp) {
  bool some = false;
  for_each_row<kSpec>(
      0, [&](i32 block, i32 half, i32) { some = some || warp.stats[block].sum[half] > kLargestRunningSum; });
  return some;
}

// Moves rows to other maxima before a key block's weights are taken: those whose scores in it outgrow theirs, where
// they are looked at, and those whose sums say that they have outgrown it before. Looked at are all rows, or, where
// sums tell, those that are unsettled; kAgain: also those that would grow beyond kMostGrowthAgain, others come out as
// without, to the last bit. A row that is lost by a move gets a sum of NaN, unless the tile runs again already: one
// whose sum is beyond kLostSum, or that must be looked at from now on. That some row moves is decided by the warp, from
// the lanes' parts: where none has outgrown the row's maximum, the row has not. Which row does is decided by the row.
template <FwdSpec kSpec, bool kAgain>
FOVEA_INLINE void raise_maxima(FwdMmaWarp<kSpec>& warp, const FwdScores<kSpec>& s, const FwdParams& p) {
  constexpr bool kTell = kSumsTell<kSpec>;
  const f32 scale_log2 = exponent_scale<kSpec>(p);
  const auto open = [&](f32 max) { return !kTell || unsettled(max, scale_log2); };
  Array<Array<f32, 2>, FwdMmaWarp<kSpec>::kRowBlocks> seen, told;
  bool some = false;
  for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
    const f32 max = warp.stats[block].max[half];
    told[block][half] = max;
    seen[block][half] = kAgain || open(max) ? lane_maximum(s[block], half, max) : max;
    some = some || outgrown(seen[block][half], max, scale_log2);
  });
  if (kTell && isa::vote_any(sums_outgrown(warp))) {
    some = true;
    for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
      RowStats& stats = warp.stats[block];
      const f32 sum = quad_max(stats.sum[half]);
      const f32 above = isa::lg2_approx_ftz(sum) * isa::rcp_approx_ftz(scale_log2);
      const bool tells = sum > kLargestRunningSum && !open(stats.max[half]);
      if (tells) told[block][half] += above;
      const bool lost = tells && (sum > kLostSum || open(told[block][half]));
      if (lost && !kAgain) stats.sum[half] = kQuietNaN;
    });
  }
  if (!isa::vote_any(some)) return;
  bool some_open = false;
  for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
    RowStats& stats = warp.stats[block];
    const f32 largest = quad_max(seen[block][half]);
    const bool grows = kAgain && (largest - told[block][half]) * scale_log2 > kMostGrowthAgain;
    raise_row(warp, block, half, grows || open(stats.max[half]) ? largest : told[block][half], scale_log2);
    some_open = some_open || open(stats.max[half]);
  });
  if (kTell) warp.looks = isa::redux_or(some_open ? 1U : 0U) != 0U;
}

// Subtracts a row's maximum from its scores where it is far.
template <FwdSpec kSpec>
FOVEA_INLINE void subtract_far_maxima(FwdScores<kSpec>& s, const FwdMmaWarp<kSpec>& warp, const FwdParams& p) {
  for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
    const f32 base = far_base<kSpec.element>(warp.stats[block].max[half], exponent_scale<kSpec>(p));
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
      shift_[i] = (softmax_base(max) - (far ? far_base<kSpec.element>(max, scale_log2_) : 0.0F)) * scale_log2_;
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

}  // namespace fovea::kernels
