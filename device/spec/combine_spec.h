// CombineSpec and CombineParams: the kernel that merges the partial results of split keys.
#pragma once

#include "spec/fwd_params.h"

namespace fovea {

struct CombineSpec {
  Element out = Element::bf16;

  constexpr bool operator==(const CombineSpec&) const = default;
};

inline constexpr i32 kCombineThreads = 128;  // a warp per row
inline constexpr i32 kMaxSplits = 256;

constexpr SmemPlan plan_smem(const CombineSpec&) { return {}; }

constexpr u64 digest(const CombineSpec& spec) {
  const auto& [out] = spec;
  return 0x636f6d62696e65ULL ^ (u64{static_cast<u32>(out)} << 56U);
}

struct CombineParams {
  RowTensor out;
  f32* lse;  // null: not wanted
  i64 lse_b, lse_h, lse_s;
  const f32* sink;  // [Hq]; null: none
  i64 sink_stride;
  const i32* cu_q;  // [B+1]; null: [B, S] storage
  i64 cu_q_stride;
  const f32* partial_out;   // [num_splits, rows, num_heads_q, head_dim_v], each normalised by its own sum
  const f32* partial_sums;  // [num_splits, rows, num_heads_q, 2]: the largest score and the sum of weights against it

  i32 batch, num_heads_q, head_dim_v;
  i32 seqlen_q;  // rows of storage of a batch entry; varlen: of all sequences together
  i32 rows;      // of all batch entries together
  i32 num_splits;
};

static_assert(sizeof(CombineParams) % 8 == 0);

}  // namespace fovea
