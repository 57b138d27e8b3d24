// Online softmax over the rows of one warp (Milakov and Gimelshein 2018; FlashAttention-2, algorithm 1). Scores become
// weights in place; the running maximum and this lane's part of the running sum are kept per row.
#pragma once

#include "spec/fwd_params.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

inline constexpr f32 kLog2E = 1.4426950408889634F;
inline constexpr f32 kLn2 = 0.6931471805599453F;

// The two rows of a 16-row block that a lane holds: lane/4 and lane/4 + 8.
struct RowStats {
  f32 max[2];  // of the scores as softmax sees them, equal in the four lanes of a row
  f32 sum[2];  // of the weights of this lane's columns
};

FOVEA_INLINE RowStats empty_rows() { return {{kMinusInfinity, kMinusInfinity}, {0.0F, 0.0F}}; }

// Multiplies the lane's elements of one row (half 0 or 1) of a block's scores or output.
template <i32 kTiles>
FOVEA_INLINE void scale_row(Array<FragC, kTiles>& block, i32 half, f32 factor) {
  FOVEA_UNROLL
  for (i32 i = 0; i < 2 * kTiles; ++i) block[i / 2].reg[2 * half + i % 2] *= factor;
}

// Maximum and sum over the four lanes that share a row.
FOVEA_INLINE f32 quad_max(f32 x) {
  x = isa::max(x, isa::shfl_bfly(x, 1U));
  return isa::max(x, isa::shfl_bfly(x, 2U));
}
FOVEA_INLINE f32 quad_sum(f32 x) {
  x += isa::shfl_bfly(x, 1U);
  return x + isa::shfl_bfly(x, 2U);
}

// Over the warp.
FOVEA_INLINE f32 warp_max(f32 x) {
  FOVEA_UNROLL
  for (u32 step = 1; step < 32; step *= 2) x = isa::max(x, isa::shfl_bfly(x, step));
  return x;
}
FOVEA_INLINE f32 warp_sum(f32 x) {
  FOVEA_UNROLL
  for (u32 step = 1; step < 32; step *= 2) x += isa::shfl_bfly(x, step);
  return x;
}

// The score from the product q.k, with softcap.
FOVEA_INLINE f32 capped_score(f32 product, const FwdParams& p) {
  // tanh(x) = 1 - 2 / (1 + exp(2x)); its absolute error is that of one fp32 rounding, unlike tanh.approx.
  const f32 e = isa::ex2_approx_ftz(product * p.softcap_in);
  return p.softcap * isa::fma_rn(-2.0F, isa::rcp_approx_ftz(1.0F + e), 1.0F);
}

// What takes a score, as softmax sees it, to units of log2 and of ln.
template <FwdSpec kSpec>
FOVEA_INLINE f32 exponent_scale(const FwdParams& p) {
  return kSpec.folded_scale() ? p.scale_log2 : kLog2E;
}
template <FwdSpec kSpec>
FOVEA_INLINE f32 natural_scale(const FwdParams& p) {
  return kSpec.folded_scale() ? p.scale : 1.0F;
}

// How far, in powers of two, a row's scores may exceed the maximum that its weights are taken against before everything
// accumulated is rescaled. Weights stay below 2^8, far inside fp16 and fp32, and most blocks need no rescaling
// (FlashAttention-4, conditional rescaling).
inline constexpr f32 kRescaleSlack = 8.0F;
inline constexpr f32 kLargestWeight = static_cast<f32>(1 << static_cast<i32>(kRescaleSlack));

// The lane's part of one row's maximum (half 0 or 1 of a block) over what was seen before and this key block.
template <i32 kKeyTiles>
FOVEA_INLINE f32 lane_maximum(const Array<FragC, kKeyTiles>& s, i32 half, f32 before) {
  f32 result = before;
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    result = isa::max(result, isa::max(s[tile].reg[2 * half], s[tile].reg[2 * half + 1]));
  }
  return result;
}

// Whether a row's maximum has outgrown the one in use; the first one always has.
FOVEA_INLINE bool outgrown(f32 seen, f32 in_use, f32 scale_log2) {
  return (seen - in_use) * scale_log2 > kRescaleSlack;
}

// What weights are taken against. A row that has seen no key keeps max = -inf; its weights become exp2(-inf) = 0.
FOVEA_INLINE f32 softmax_base(f32 max) { return isa::max(max, -max) == -kMinusInfinity ? 0.0F : max; }

// Whether weights cannot be taken as exp2(scale s - scale max): the rounding of scale max, half a unit in its last
// place, becomes their exponent. It may reach 64 where weights are narrowed to bf16, and a half where they are narrowed
// to fp16.
template <Element kElement>
FOVEA_INLINE bool is_far(f32 max, f32 scale_log2) {
  constexpr f32 kFar = kElement == Element::fp16 ? 0x1p23F : 0x1p31F;
  const f32 exponent = softmax_base(max) * scale_log2;
  return !(isa::max(exponent, -exponent) < kFar);
}

// Whether a row looks for its maximum in every block. It has none; or one so low that it may be that of masked keys (an
// additive mask of -1e4), which the first visible one outgrows beyond what weights can say; or one whose product with
// the scale rounds by half a power of two or more, so that weights do not say how far scores have grown.
FOVEA_INLINE bool unsettled(f32 max, f32 scale_log2) {
  const f32 exponent = max * scale_log2;
  return !(exponent > -0x1p10F && exponent < 0x1p23F);
}

// The maximum itself where it is far, else 0: what a rerun subtracts from scores first, exactly where they are near it.
template <Element kElement>
FOVEA_INLINE f32 far_base(f32 max, f32 scale_log2) {
  return is_far<kElement>(max, scale_log2) ? softmax_base(max) : 0.0F;
}

// Moves a row to the maximum that was seen, if that has outgrown the one in use: a row's weights, to the last bit,
// depend on its own scores alone. Returns the factor by which its accumulators must shrink.
FOVEA_INLINE f32 raise_max(RowStats& stats, i32 half, f32 seen, f32 scale_log2) {
  const f32 max = outgrown(seen, stats.max[half], scale_log2) ? seen : stats.max[half];
  const f32 moved = isa::ex2_approx_ftz((stats.max[half] - softmax_base(max)) * scale_log2);
  const f32 factor = stats.max[half] == max ? 1.0F : moved;
  stats.max[half] = max;
  stats.sum[half] *= factor;
  return factor;
}

// The weight of a score: exp2(scale s - shift).
FOVEA_INLINE f32 weight(f32 score, f32 scale_log2, f32 shift) {
  return isa::ex2_approx_ftz(isa::fma_rn(score, scale_log2, -shift));
}
// The same in its place, and added to the row's sum.
FOVEA_INLINE void weigh(f32& score, f32& sum, f32 scale_log2, f32 shift) {
  score = weight(score, scale_log2, shift);
  sum += score;
}

}  // namespace fovea
