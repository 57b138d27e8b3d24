// A warp's scores in the registers of a wgmma accumulator: 16 rows, of which a lane holds columns of two.
#pragma once

#include "attention/sequence.h"
#include "attention/softmax.h"
#include "tile/wgmma.h"

namespace fovea::kernels {

// The largest of the lane's scores of one of its rows, found in four chains.
template <i32 kColumns>
FOVEA_INLINE f32 lane_maximum(const WgmmaAcc<kColumns>& s, i32 half) {
  Array<f32, 4> chain{{s.at(0, half, 0), s.at(0, half, 1), s.at(1, half, 0), s.at(1, half, 1)}};
  FOVEA_UNROLL
  for (i32 i = 4; i < kColumns / 4; ++i) chain[i % 4] = isa::max(chain[i % 4], s.at(i / 2, half, i % 2));
  return isa::max(isa::max(chain[0], chain[1]), isa::max(chain[2], chain[3]));
}

// Products -> scores, where the exponent does not take the scale.
template <i32 kColumns>
FOVEA_INLINE void transform_scores(WgmmaAcc<kColumns>& s, const FwdParams& p) {
  if (p.softcap == 0.0F) {
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 2; ++i) s.reg[i] *= p.scale;
  } else {
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 2; ++i) s.reg[i] = capped_score(s.reg[i], p);
  }
}

// The lane's two rows: what goes off the exponents of their weights, which changes with the maximum alone; RowStats;
// whether some row of the warp is unsettled. In this order ptxas puts both shifts where fmas can reuse them.
struct WgmmaRows {
  Array<f32, 2> shift;
  RowStats stats;
  bool unsettled;
};

FOVEA_INLINE WgmmaRows no_keys_yet() { return {{{0.0F, 0.0F}}, empty_rows(), true}; }
// `scale` takes scores to exponents. A row whose maximum is far gets no weights: what follows may be nearer, and if
// nothing is, the tile runs again.
template <Element kElement>
FOVEA_INLINE Array<f32, 2> shift_of(const RowStats& stats, f32 scale) {
  const auto shift = [&](f32 max) {
    return is_far<kElement>(max, scale) ? -kMinusInfinity : softmax_base(max) * scale;
  };
  return {{shift(stats.max[0]), shift(stats.max[1])}};
}

// What a block's scores mean for the lane's two rows: whether some row of the warp took a new maximum, and the factors
// by which what was summed then shrinks, which nobody sets or reads otherwise.
struct Maxima {
  bool moved;
  Array<f32, 2> factor;
};
FOVEA_INLINE Maxima unmoved() {
  Maxima maxima;
  maxima.moved = false;
  return maxima;
}

// How far, in powers of two, the weights of a block may grow beyond a maximum that moves afterwards: they and their
// sums are finite. A row that grows further is lost, and its tile runs again with a look at every block.
inline constexpr f32 kMostGrowth = 116.0F;
FOVEA_INLINE f32 growth_of(f32 largest_weight) { return isa::lg2_approx_ftz(largest_weight); }

// Of unsettled rows. kAgain: in a tile that runs again, also of rows that this block would take beyond kMostGrowth; all
// others come out as they did before, to the last bit.
template <Element kElement, bool kAgain, i32 kColumns>
FOVEA_INLINE Maxima raised_maxima(const WgmmaAcc<kColumns>& s, WgmmaRows& rows, f32 scale) {
  RowStats& stats = rows.stats;
  const auto open = [&](i32 half) { return unsettled(stats.max[half], scale); };
  const auto takes = [&](i32 half, f32 seen) {
    return open(half) || (kAgain && growth_of(weight(seen, scale, rows.shift[half])) > kMostGrowth);
  };
  Array<f32, 2> seen;
  bool some = false;
  FOVEA_UNROLL
  for (i32 half = 0; half < 2; ++half) {
    seen[half] = kAgain || open(half) ? lane_maximum(s, half) : stats.max[half];
    some = some || outgrown(seen[half], stats.max[half], scale);
  }
  Maxima maxima{};
  // Where no lane's part of a row has outgrown its maximum, no row has: nothing to exchange.
  maxima.moved = isa::vote_any(some);
  if (maxima.moved) {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const f32 largest = quad_max(seen[half]);
      maxima.factor[half] = raise_max(stats, half, takes(half, largest) ? largest : stats.max[half], scale);
    }
    rows.shift = shift_of<kElement>(stats, scale);
    if (!kAgain) rows.unsettled = isa::redux_or(open(0) || open(1) ? 1U : 0U) != 0U;
  }
  return maxima;
}

// Subtracts a row's maximum from its scores where it is far, and says so to the shift.
template <Element kElement, i32 kColumns>
FOVEA_INLINE void subtract_far_maxima(WgmmaAcc<kColumns>& s, WgmmaRows& rows, f32 scale) {
  FOVEA_UNROLL
  for (i32 half = 0; half < 2; ++half) {
    const f32 base = far_base<kElement>(rows.stats.max[half], scale);
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 4; ++i) s.at(i / 2, half, i % 2) -= base;
    rows.shift[half] = (softmax_base(rows.stats.max[half]) - base) * scale;
  }
}

// Scores -> weights in place. Returns the sums of the lane's weights in its two rows.
template <i32 kColumns>
FOVEA_INLINE Array<f32, 2> weigh_scores(WgmmaAcc<kColumns>& s, const WgmmaRows& rows, f32 scale) {
  Array<f32, 2> sums;
  FOVEA_UNROLL
  for (i32 i = 0; i < kColumns / 2; ++i) {
    const i32 half = i / 2 % 2;
    s.reg[i] = weight(s.reg[i], scale, rows.shift[half]);
    sums[half] = i == 0 || i == 2 ? s.reg[i] : sums[half] + s.reg[i];
  }
  return sums;
}

// Sums of the lane's weights in a block beyond which its row takes a new maximum: then the largest is above
// 2^kRescaleSlack.
template <i32 kColumns>
inline constexpr f32 kLargestSum = static_cast<f32>(kColumns / 4) * kLargestWeight;

// For blocks that were weighed against maxima of earlier ones: where the sums of a row say that its scores have
// outgrown the maximum, the row takes a new one, and its weights shrink. A row that is lost by that gets a sum of NaN:
// one that grew beyond kMostGrowth or must look at every block from now on. kAgain: as for raised_maxima(), and no row
// is lost.
template <Element kElement, bool kAgain, i32 kColumns>
FOVEA_INLINE void raise_outgrown_maxima(WgmmaAcc<kColumns>& s, WgmmaRows& rows, Array<f32, 2>& sums, Maxima& maxima,
                                        f32 scale) {
  if (!isa::vote_any(isa::max(sums[0], sums[1]) > kLargestSum<kColumns>)) return;
  FOVEA_UNROLL
  for (i32 half = 0; half < 2; ++half) {
    const f32 growth = growth_of(quad_max(lane_maximum(s, half)));
    const f32 before = rows.stats.max[half];
    const f32 most = unsettled(before, scale) ? -kMinusInfinity : kLargestSum<kColumns>;
    const bool moves = quad_max(sums[half]) > most;
    const f32 seen = before + growth * isa::rcp_approx_ftz(scale);
    const f32 factor = raise_max(rows.stats, half, moves ? seen : before, scale);
    const bool lost = !kAgain && moves && (growth > kMostGrowth || unsettled(rows.stats.max[half], scale));
    sums[half] = lost ? kQuietNaN : sums[half] * factor;
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 4; ++i) s.at(i / 2, half, i % 2) *= factor;
    maxima.factor[half] = maxima.moved ? maxima.factor[half] * factor : factor;
  }
  maxima.moved = true;
  rows.shift = shift_of<kElement>(rows.stats, scale);
}

// A bit for each of a lane's columns of a row, lowest first: those of the first `keys` from its first column on.
template <i32 kColumns>
FOVEA_INLINE u32 columns_below(i32 keys) {
  static_assert(kColumns <= 128);
  const i32 inside = max(0, min(keys, kColumns));
  const u32 count = static_cast<u32>(inside / 8 * 2 + min(inside % 8, 2));
  return count == 32U ? 0xffffffffU : (1U << count) - 1U;
}

// Hides, by -inf, the scores of keys that the lane's rows do not see. `row` is its first, `key0` the block's first key.
// A bit per column takes one predicate each; comparisons take three instructions.
template <FwdSpec kSpec>
FOVEA_INLINE void hide_scores(WgmmaAcc<kSpec.tile_n>& s, const FwdParams& p, const FwdSequence& seq, i32 row,
                              i32 key0) {
  constexpr i32 kColumns = kSpec.tile_n;
  const i32 first = key0 + 2 * static_cast<i32>(isa::laneid() & 3U);
  FOVEA_UNROLL
  for (i32 half = 0; half < 2; ++half) {
    const i32 query = query_of<kSpec>(p, row + 8 * half);
    const i32 begin = query + seq.left - first;
    const i32 end = min(seq.kv_used, query + seq.right + 1) - first;
    const u32 visible = columns_below<kColumns>(end) & ~columns_below<kColumns>(begin);
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 4; ++i) {
      if ((visible >> static_cast<u32>(i) & 1U) == 0U) s.at(i / 2, half, i % 2) = kMinusInfinity;
    }
  }
}

}  // namespace fovea::kernels
