// Fills MergeParams: views as they are.
#include "plan/merge_params.h"

#include <algorithm>
#include <limits>

#include "select/fwd_mma.h"

namespace fovea {
namespace {

MergePart merge_part(const PartView& view) {
  return {.data = view.out.data,
          .stride_b = view.out.stride_b,
          .stride_s = view.out.stride_s,
          .stride_h = view.out.stride_h,
          .stride_d = view.out.stride_d,
          .lse = view.lse,
          .lse_b = view.lse_b,
          .lse_h = view.lse_h,
          .lse_s = view.lse_s,
          .element = element_of(view.out.dtype)};
}

std::int64_t total_rows(const MergeOperands& operands) { return operands.batch * operands.rows * operands.heads; }

}  // namespace

MergeParams make_merge_params(const MergeOperands& operands) {
  MergeParams params{};
  std::ranges::transform(operands.parts, params.part, merge_part);
  params.result = merge_part(operands.result);
  params.sink = operands.sink;
  params.sink_stride = operands.sink_stride;
  params.rows = operands.rows;
  params.heads = operands.heads;
  params.total = total_rows(operands);
  params.head_dim = operands.head_dim;
  params.count = static_cast<i64>(operands.parts.size());
  return params;
}

std::int64_t merge_grid(const MergeOperands& operands) {
  constexpr std::int64_t kRows = kMergeThreads / 32;
  return std::min<std::int64_t>((total_rows(operands) + kRows - 1) / kRows, std::numeric_limits<i32>::max());
}

}  // namespace fovea
