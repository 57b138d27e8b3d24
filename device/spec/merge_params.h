// MergeSpec and MergeParams: the kernel behind fovea_merge(). One spec serves every call: parts may differ in dtype and
// strides.
#pragma once

#include "spec/fwd_spec.h"

namespace fovea {

struct MergeSpec {
  constexpr bool operator==(const MergeSpec&) const = default;
};

inline constexpr i32 kMergeThreads = 128;  // a warp per row and head
inline constexpr i32 kMaxMergeParts = 32;  // one per lane; parameters stay below 4 KB

constexpr SmemPlan plan_smem(const MergeSpec&) { return {}; }

constexpr u64 digest(const MergeSpec&) { return 0x6d65726765ULL; }

// Element (b, s, h, d) of out lies at data + b*stride_b + s*stride_s + h*stride_h + d*stride_d, in elements; that of
// lse (b, h, s) likewise.
struct MergePart {
  void* data;
  i64 stride_b, stride_s, stride_h, stride_d;
  f32* lse;
  i64 lse_b, lse_h, lse_s;
  Element element;
};

struct MergeParams {
  MergePart part[kMaxMergeParts];
  MergePart result;  // may be the very views of a part; lse null: not wanted
  const f32* sink;   // [Hq]; null: none
  i64 sink_stride;
  i64 rows, heads;  // rows of a batch entry; varlen: of all sequences together
  i64 total;        // rows * heads of all batch entries
  i64 head_dim;
  i64 count;  // parts
};

static_assert(sizeof(MergeParams) % 8 == 0 && sizeof(MergeParams) < 4096);

}  // namespace fovea
