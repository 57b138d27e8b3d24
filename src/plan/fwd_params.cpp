// Fills FwdParams: strides as they are, position rules as one band, scales in units of log2.
#include "plan/fwd_params.h"

#include <algorithm>
#include <numbers>

namespace fovea {
namespace {

// Far beyond any length that a kernel serves, and small enough that sums of two stay inside 32 bits.
constexpr std::int64_t kFar = std::int64_t{1} << 30;

i32 clamp_far(std::int64_t x) { return static_cast<i32>(std::clamp(x, -kFar, kFar)); }

RowTensor row_tensor(const RowView& view) { return {view.data, view.stride_b, view.stride_s, view.stride_h}; }

}  // namespace

FwdParams make_fwd_params(const Plan& plan, const ForwardOperands& operands) {
  const Problem& p = plan.problem;
  const std::int64_t diagonal = sequence(p, operands, 0).diagonal;
  std::int64_t right = kFar;
  if (p.causal) right = diagonal;
  if (p.has_window_right) right = std::min(right, diagonal + p.window_right);
  const double scale_log2 = static_cast<double>(p.softmax_scale) * std::numbers::log2e;
  return {.q = row_tensor(operands.q),
          .k = row_tensor(operands.k),
          .v = row_tensor(operands.v),
          .out = row_tensor(operands.out),
          .lse = operands.lse,
          .lse_b = operands.lse_b,
          .lse_h = operands.lse_h,
          .lse_s = operands.lse_s,
          .sink = operands.sink,
          .sink_stride = operands.sink_stride,
          .batch = static_cast<i32>(p.batch),
          .num_heads_q = static_cast<i32>(p.num_heads_q),
          .group = static_cast<i32>(p.num_heads_q / std::max<std::int64_t>(p.num_heads_kv, 1)),
          .seqlen_q = static_cast<i32>(p.seqlen_q),
          .seqlen_kv = static_cast<i32>(p.seqlen_kv),
          .tiles_m = static_cast<i32>((p.seqlen_q + plan.tile_m - 1) / plan.tile_m),
          .heads_in_flight = static_cast<i32>(plan.heads_in_flight),
          .left = p.has_window_left ? clamp_far(diagonal - p.window_left) : -static_cast<i32>(kFar),
          .right = clamp_far(right),
          .scale_log2 = static_cast<f32>(scale_log2),
          .softcap_log2 = static_cast<f32>(static_cast<double>(p.softcap) * std::numbers::log2e),
          .softcap_in = p.softcap > 0.0F ? static_cast<f32>(2.0 * scale_log2 / static_cast<double>(p.softcap)) : 0.0F};
}

}  // namespace fovea
