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

// Maximum and sum over the four lanes that share a row.
FOVEA_INLINE f32 quad_max(f32 x) {
  x = isa::max(x, isa::shfl_bfly(x, 1U));
  return isa::max(x, isa::shfl_bfly(x, 2U));
}
FOVEA_INLINE f32 quad_sum(f32 x) {
  x += isa::shfl_bfly(x, 1U);
  return x + isa::shfl_bfly(x, 2U);
}

// The score in units of log2, from the product q.k: softcap, or a scale that cannot wait for the exponent.
FOVEA_INLINE f32 general_score(f32 product, const FwdParams& p) {
  if (p.softcap_log2 == 0.0F) return product * p.scale_log2;
  // tanh(x) = 1 - 2 / (1 + exp(2x)); its absolute error is that of one fp32 rounding, unlike tanh.approx.
  const f32 e = isa::ex2_approx_ftz(product * p.softcap_in);
  return p.softcap_log2 * isa::fma_rn(-2.0F, isa::rcp_approx_ftz(1.0F + e), 1.0F);
}

// One key block for one row (half 0 or 1 of a block): s becomes exp2(scale (s - max)). Returns the factor by which what
// was accumulated before must shrink. A row that has seen no key keeps max = -inf and weights 0.
template <i32 kKeyTiles>
FOVEA_INLINE f32 softmax_row(Array<FragC, kKeyTiles>& s, i32 half, RowStats& stats, f32 scale_log2) {
  f32 row_max = stats.max[half];
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    row_max = isa::max(row_max, isa::max(s[tile].reg[2 * half], s[tile].reg[2 * half + 1]));
  }
  row_max = quad_max(row_max);
  const f32 shift = row_max == kMinusInfinity ? 0.0F : row_max * scale_log2;
  const f32 correction = isa::ex2_approx_ftz(isa::fma_rn(stats.max[half], scale_log2, -shift));
  f32 sum = 0.0F;
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    FOVEA_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      f32& x = s[tile].reg[2 * half + e];
      x = isa::ex2_approx_ftz(isa::fma_rn(x, scale_log2, -shift));
      sum += x;
    }
  }
  stats.max[half] = row_max;
  stats.sum[half] = isa::fma_rn(stats.sum[half], correction, sum);
  return correction;
}

}  // namespace fovea
