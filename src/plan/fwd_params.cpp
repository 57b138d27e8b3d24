// Fills FwdParams: strides as they are, position rules as one band, scales in units of log2.
#include "plan/fwd_params.h"

#include <algorithm>
#include <numbers>

namespace fovea {
namespace {

i32 clamp_far(std::int64_t x) { return static_cast<i32>(std::clamp<std::int64_t>(x, -kFarKeys, kFarKeys)); }

RowTensor row_tensor(const RowView& view) { return {view.data, view.stride_b, view.stride_s, view.stride_h}; }

}  // namespace

FwdParams make_fwd_params(const Plan& plan, const ForwardOperands& operands) {
  const Problem& p = plan.problem;
  const std::int64_t diagonal = p.has_offset ? p.q_offset - p.kv_offset : 0;
  std::int64_t right = kFarKeys;
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
          .used_q = operands.seqused_q.data,
          .used_kv = operands.seqused_kv.data,
          .used_q_stride = operands.seqused_q.stride,
          .used_kv_stride = operands.seqused_kv.stride,
          .batch = static_cast<i32>(p.batch),
          .num_heads_q = static_cast<i32>(p.num_heads_q),
          .group = static_cast<i32>(p.num_heads_q / std::max<std::int64_t>(p.num_heads_kv, 1)),
          .seqlen_q = static_cast<i32>(p.seqlen_q),
          .seqlen_kv = static_cast<i32>(p.seqlen_kv),
          .tiles_m = static_cast<i32>((p.seqlen_q + plan.tile_m - 1) / plan.tile_m),
          .heads_in_flight = static_cast<i32>(plan.heads_in_flight),
          .left = p.has_window_left ? clamp_far(diagonal - p.window_left) : -kFarKeys,
          .right = clamp_far(right),
          .bottom_right = p.has_offset ? 0 : 1,
          .scale_log2 = static_cast<f32>(scale_log2),
          .softcap_log2 = static_cast<f32>(static_cast<double>(p.softcap) * std::numbers::log2e),
          .softcap_in = p.softcap > 0.0F ? static_cast<f32>(2.0 * scale_log2 / static_cast<double>(p.softcap)) : 0.0F};
}

}  // namespace fovea
