// merge: the result over the union of disjoint sets of keys from the results over each of them (contract section 3):
// part i weighs exp(lse_i - lse). One warp per row and head; lane i weighs part i. A part with lse = -inf is the
// identity, whatever its out holds; the sink joins here, once.
#pragma once

#include "attention/epilogue.h"
#include "spec/merge_params.h"

namespace fovea::kernels {

struct MergeRow {
  i64 b, s, h;
};

FOVEA_INLINE i64 out_offset(const MergePart& part, const MergeRow& row) {
  return row.b * part.stride_b + row.s * part.stride_s + row.h * part.stride_h;
}

FOVEA_INLINE i64 lse_offset(const MergePart& part, const MergeRow& row) {
  return row.b * part.lse_b + row.s * part.lse_s + row.h * part.lse_h;
}

FOVEA_INLINE f32 load_element(const MergePart& part, i64 at) {
  if (part.element == Element::fp32) return isa::ld_global<f32>(static_cast<const f32*>(part.data) + at);
  const u16 bits = isa::ld_global<u16>(static_cast<const u16*>(part.data) + at);
  return part.element == Element::bf16 ? isa::cvt_f32_bf16(bits) : isa::cvt_f32_f16(bits);
}

// A lane of a row: the lse and weight of its part, and what all parts amount to.
struct MergeWeights {
  f32 lse, weight;  // -inf and 0 for lanes without a part
  f32 max, sum;     // over the parts: of lse, of weights
};

FOVEA_INLINE MergeWeights merge_weights(const MergeParams& p, const MergeRow& row, i32 lane) {
  MergeWeights w;
  w.lse = kMinusInfinity;
  if (lane < p.count) w.lse = isa::ld_global<f32>(p.part[lane].lse + lse_offset(p.part[lane], row));
  w.max = warp_max(w.lse);
  w.weight = w.lse == kMinusInfinity ? 0.0F : isa::ex2_approx_ftz((w.lse - softmax_base(w.max)) * kLog2E);
  w.sum = warp_sum(w.weight);
  return w;
}

FOVEA_INLINE void merge_row(const MergeParams& p, const MergeRow& row, i32 lane) {
  constexpr i32 kCols = 4;  // per lane and pass: first + lane, + 32, ...
  const MergeWeights w = merge_weights(p, row, lane);
  const f32 sink = p.sink == nullptr ? kMinusInfinity : isa::ld_global<f32>(p.sink + row.h * p.sink_stride);
  const RowResult result = finish_row(w.max, w.sum, sink);
  // Columns are read from every part before they are written, lse before any shuffle above: merging in place is safe.
  for (i64 first = lane; first - lane < p.head_dim; first += 32 * kCols) {
    Array<f32, kCols> sum;
    FOVEA_UNROLL
    for (i32 c = 0; c < kCols; ++c) sum[c] = 0.0F;
    for (i32 i = 0; i < p.count; ++i) {
      if (isa::shfl_idx(w.lse, static_cast<u32>(i)) == kMinusInfinity) continue;
      const f32 weight = isa::shfl_idx(w.weight, static_cast<u32>(i));
      const i64 base = out_offset(p.part[i], row);
      FOVEA_UNROLL
      for (i32 c = 0; c < kCols; ++c) {
        const i64 col = first + 32 * c;
        if (col >= p.head_dim) continue;
        sum[c] = isa::fma_rn(weight, load_element(p.part[i], base + col * p.part[i].stride_d), sum[c]);
      }
    }
    const i64 base = out_offset(p.result, row);
    FOVEA_UNROLL
    for (i32 c = 0; c < kCols; ++c) {
      const i64 col = first + 32 * c;
      if (col >= p.head_dim) continue;
      store_element(p.result.data, base + col * p.result.stride_d, p.result.element, sum[c] * result.factor);
    }
  }
  if (p.result.lse != nullptr && lane == 0) {
    isa::st_global<f32>(p.result.lse + lse_offset(p.result, row), result.lse);
  }
}

template <MergeSpec>
FOVEA_INLINE void merge(const MergeParams& p) {
  constexpr i64 kRows = kMergeThreads / 32;
  const i32 lane = static_cast<i32>(isa::laneid());
  const i64 step = static_cast<i64>(isa::nctaid_x()) * kRows;
  for (i64 at = static_cast<i64>(isa::ctaid_x()) * kRows + static_cast<i32>(isa::tid_x()) / 32; at < p.total;
       at += step) {
    const i64 query_of_all = at / p.heads;
    const i64 b = query_of_all / p.rows;
    merge_row(p, {.b = b, .s = query_of_all - b * p.rows, .h = at - query_of_all * p.heads}, lane);
  }
}

}  // namespace fovea::kernels
