// combine: merges the partial results of split keys, which fwd_mma wrote: with m_s the largest score of split s, l_s
// the sum of its weights and m the largest m_s, split s weighs w_s = l_s exp(m_s - m), and out = sum w_s out_s / sum
// w_s. The sink joins here, once. One warp per row and head; a split without keys has l_s = 0.
#pragma once

#include "attention/epilogue.h"
#include "spec/combine_spec.h"

namespace fovea::kernels {

// The weights of a row's splits: lane l holds those of splits l, l + 32, ...
struct SplitWeights {
  static constexpr i32 kPerLane = kMaxSplits / 32;
  Array<f32, kPerLane> weight;
  f32 max, sum;  // of scores, of weights
};

FOVEA_INLINE SplitWeights split_weights(const CombineParams& p, i64 row) {
  const i32 lane = static_cast<i32>(isa::laneid());
  SplitWeights w;
  Array<f32, SplitWeights::kPerLane> max;
  w.max = kMinusInfinity;
  FOVEA_UNROLL
  for (i32 i = 0; i < SplitWeights::kPerLane; ++i) {
    const i32 split = lane + 32 * i;
    max[i] = kMinusInfinity;
    w.weight[i] = 0.0F;
    if (split < p.num_splits) {
      const f32* sums = p.partial_sums + 2 * (static_cast<i64>(split) * p.rows * p.num_heads_q + row);
      max[i] = isa::ld_global<f32>(sums);
      w.weight[i] = isa::ld_global<f32>(sums + 1);  // NaN where a score is
    }
    w.max = isa::max(w.max, max[i]);
  }
  w.max = warp_max(w.max);
  w.sum = 0.0F;
  FOVEA_UNROLL
  for (i32 i = 0; i < SplitWeights::kPerLane; ++i) {
    if (w.weight[i] != 0.0F) w.weight[i] *= isa::ex2_approx_ftz((max[i] - softmax_base(w.max)) * kLog2E);
    w.sum += w.weight[i];
  }
  w.sum = warp_sum(w.sum);
  return w;
}

template <CombineSpec kSpec>
FOVEA_INLINE void combine(const CombineParams& p) {
  constexpr i32 kCols = 256 / 32;  // per lane: lane, lane + 32, ...; those past the head dim are not stored
  constexpr i32 kAtOnce = 4;
  const i32 lane = static_cast<i32>(isa::laneid());
  const i64 row =
      static_cast<i64>(isa::ctaid_x()) * (kCombineThreads / 32) + static_cast<i32>(isa::tid_x()) / 32;  // of all heads
  if (row >= static_cast<i64>(p.rows) * p.num_heads_q) return;
  const i32 query_of_all = static_cast<i32>(row / p.num_heads_q);
  const i32 head = static_cast<i32>(row - static_cast<i64>(query_of_all) * p.num_heads_q);
  const bool packed = p.cu_q != nullptr;
  if (packed) {  // rows before the first sequence and past the last belong to nobody
    const i32 first = used_length(p.cu_q, 0, p.seqlen_q);
    const i32 last = used_length(p.cu_q, p.batch * p.cu_q_stride, p.seqlen_q);
    if (query_of_all < first || query_of_all >= last) return;
  }
  const i32 batch = packed ? 0 : query_of_all / p.seqlen_q;
  const i32 query = packed ? query_of_all : query_of_all - batch * p.seqlen_q;

  const SplitWeights w = split_weights(p, row);
  Array<f32, kCols> sum;
  FOVEA_UNROLL
  for (i32 i = 0; i < kCols; ++i) sum[i] = 0.0F;
  FOVEA_UNROLL
  for (i32 group = 0; group < SplitWeights::kPerLane; ++group) {
    for (i32 first = 0; first < 32 && 32 * group + first < p.num_splits; first += kAtOnce) {
      Array<Array<f32, kCols>, kAtOnce> part;  // every load is under way before the first is used; none is conditional
      FOVEA_UNROLL
      for (i32 i = 0; i < kAtOnce; ++i) {
        const i64 split = min(32 * group + first + i, p.num_splits - 1);
        const f32* out = p.partial_out + (split * p.rows * p.num_heads_q + row) * p.head_dim_v;
        FOVEA_UNROLL
        for (i32 c = 0; c < kCols; ++c) part[i][c] = isa::ld_global<f32>(out + min(lane + 32 * c, p.head_dim_v - 1));
      }
      FOVEA_UNROLL
      for (i32 i = 0; i < kAtOnce; ++i) {
        const f32 weight = isa::shfl_idx(w.weight[group], static_cast<u32>(first + i));  // 0 past the last split
        FOVEA_UNROLL
        for (i32 c = 0; c < kCols; ++c) {
          if (weight != 0.0F) sum[c] = isa::fma_rn(weight, part[i][c], sum[c]);
        }
      }
    }
  }
  const f32 sink = p.sink == nullptr ? kMinusInfinity : isa::ld_global<f32>(p.sink + head * p.sink_stride);
  const RowResult result = finish_row(w.max, w.sum, sink);
  if (p.lse != nullptr && lane == 0) {
    isa::st_global<f32>(p.lse + batch * p.lse_b + head * p.lse_h + query * p.lse_s, result.lse);
  }
  const i64 out = batch * p.out.stride_b + head * p.out.stride_h + query * p.out.stride_s;
  FOVEA_UNROLL
  for (i32 c = 0; c < kCols; ++c) {
    const i32 col = lane + 32 * c;
    if (col < p.head_dim_v) store_element(p.out.data, out + col, kSpec.out, sum[c] * result.factor);
  }
}

}  // namespace fovea::kernels
