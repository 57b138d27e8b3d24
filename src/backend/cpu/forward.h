// The cpu backend's entry points: run a Plan over validated operands, and merge partial results.
#pragma once

#include <span>

#include "core/error.h"
#include "core/threads.h"
#include "core/workspace.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::cpu {

// Computes out (and lse). Returns an Error only when workspace cannot be allocated; then nothing was written.
Check run_forward(const Plan& plan, const ForwardOperands& operands, ThreadPool& pool, Workspace& workspace);

// One part of a merge, or its result; lse element (b, h, s) at b*lse_b + h*lse_h + s*lse_s. lse_low, where given, is
// added to lse: a split's m and ln l, apart.
struct PartView {
  RowView out;
  float* lse = nullptr;
  const float* lse_low = nullptr;
  std::int64_t lse_b = 0, lse_h = 0, lse_s = 0;
};
struct MergeOperands {
  std::span<const PartView> parts;
  PartView result;  // result.lse may be null
  const float* sink = nullptr;
  std::int64_t sink_stride = 0;
  std::int64_t batch = 0, rows = 0, heads = 0, head_dim = 0;  // varlen: batch = 1, rows = T
};
void run_merge(const MergeOperands& operands, ThreadPool& pool);

// One row of a merge: result row (b, s, h) from the same row of every part.
void merge_row(const MergeOperands& operands, std::int64_t b, std::int64_t s, std::int64_t h);

}  // namespace fovea::cpu
