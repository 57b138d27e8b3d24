// combine: merges the partial results of split keys, which fwd_mma wrote: out = sum of w_s out_s, w_s = exp(lse_s -
// lse), lse = ln sum exp(lse_s). The sink joins here, once. One warp per row and head; a split without keys has lse_s =
// -inf and is not read.
#pragma once

#include "attention/epilogue.h"
#include "spec/combine_spec.h"

namespace fovea::kernels {

// The weights of a row's splits: lane l holds those of splits l, l + 32, ...
struct SplitWeights {
  static constexpr i32 kPerLane = kMaxSplits / 32;
  Array<f32, kPerLane> weight;  // against the largest lse
  f32 max, sum;                 // of lse in units of log2; of the weights
};

FOVEA_INLINE SplitWeights split_weights(const CombineParams& p, i64 row) {
  const i32 lane = static_cast<i32>(isa::laneid());
  SplitWeights w;
  w.max = kMinusInfinity;
  FOVEA_UNROLL
  for (i32 i = 0; i < SplitWeights::kPerLane; ++i) {
    const i32 split = lane + 32 * i;
    w.weight[i] = kMinusInfinity;
    if (split < p.num_splits) {
      w.weight[i] =
          isa::ld_global<f32>(p.partial_lse + static_cast<i64>(split) * p.rows * p.num_heads_q + row) * kLog2E;
    }
    // A NaN has to win: the row is NaN then.
    if (!(w.weight[i] <= w.max)) w.max = w.weight[i];
  }
  FOVEA_UNROLL
  for (u32 step = 1; step < 32; step *= 2) {
    const f32 other = isa::shfl_bfly(w.max, step);
    if (!(other <= w.max)) w.max = other;
  }
  w.sum = 0.0F;
  FOVEA_UNROLL
  for (i32 i = 0; i < SplitWeights::kPerLane; ++i) {
    w.weight[i] = w.weight[i] == kMinusInfinity ? 0.0F : isa::ex2_approx_ftz(w.weight[i] - w.max);
    w.sum += w.weight[i];
  }
  FOVEA_UNROLL
  for (u32 step = 1; step < 32; step *= 2) w.sum += isa::shfl_bfly(w.sum, step);
  return w;
}

template <CombineSpec kSpec>
FOVEA_INLINE void combine(const CombineParams& p) {
  constexpr i32 kCols = kSpec.head_dim_v / 32;  // per lane: lane, lane + 32, ...
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
    const i32 splits = min(32, p.num_splits - 32 * group);
    for (i32 i = 0; i < splits; ++i) {
      const f32 weight = isa::shfl_idx(w.weight[group], static_cast<u32>(i));
      if (weight == 0.0F) continue;
      const i64 split_row = static_cast<i64>(32 * group + i) * p.rows * p.num_heads_q + row;
      const f32* out = p.partial_out + split_row * p.head_dim_v;
      FOVEA_UNROLL
      for (i32 c = 0; c < kCols; ++c) {
        const i32 col = lane + 32 * c;
        if (col < p.head_dim_v) sum[c] = isa::fma_rn(weight, isa::ld_global<f32>(out + col), sum[c]);
      }
    }
  }
  const f32 sink_log2 =
      p.sink == nullptr ? kMinusInfinity : isa::ld_global<f32>(p.sink + head * p.sink_stride) * kLog2E;
  const RowResult result = finish_row(w.max, w.sum, sink_log2);
  if (p.lse != nullptr && lane == 0) {
    isa::st_global<f32>(p.lse + batch * p.lse_b + head * p.lse_h + query * p.lse_s, result.lse);
  }
  const i64 out = batch * p.out.stride_b + head * p.out.stride_h + query * p.out.stride_s;
  FOVEA_UNROLL
  for (i32 c = 0; c < kCols; ++c) {
    const i32 col = lane + 32 * c;
    if (col >= p.head_dim_v) continue;
    const f32 value = sum[c] * result.factor;
    if constexpr (kSpec.out == Element::fp32) {
      isa::st_global<f32>(static_cast<f32*>(p.out.data) + out + col, value);
    } else {
      isa::st_global<u16>(static_cast<u16*>(p.out.data) + out + col,
                          kSpec.out == Element::bf16 ? isa::cvt_rn_bf16(value) : isa::cvt_rn_f16(value));
    }
  }
}

}  // namespace fovea::kernels
