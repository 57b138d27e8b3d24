// MergeOperands: the parts and the result of one validated merge, for every backend.
#pragma once

#include <span>

#include "plan/operands.h"

namespace fovea {

// One part of a merge, or its result; lse element (b, h, s) at b*lse_b + h*lse_h + s*lse_s. lse_low, where given, is
// added to lse: a split's m and ln l, apart (the cpu backend's own parts alone).
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

}  // namespace fovea
