// Fills FwdParams: strides as they are, position rules as one band.
#include "plan/fwd_params.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"

namespace fovea {
namespace {

i32 clamp_far(std::int64_t x) { return static_cast<i32>(std::clamp<std::int64_t>(x, -kFarKeys, kFarKeys)); }

RowTensor row_tensor(const RowView& view) { return {view.data, view.stride_b, view.stride_s, view.stride_h}; }

i32 extent(std::int64_t n) { return static_cast<i32>(std::min<std::int64_t>(n, kFarKeys)); }

ScoreTensor score_tensor(const ScoreView& view) {
  return {.data = view.data,
          .stride_b = view.stride_b,
          .stride_h = view.stride_h,
          .stride_q = view.stride_q,
          .stride_k = view.stride_k,
          .head_group = static_cast<i32>(view.head_group),
          .rows = extent(view.rows),
          .keys = view.keys == 1 ? kFarKeys : extent(view.keys),
          .reads = view.reads};
}

// 1 where a call has no pages, or no heads.
Divisor divisor_of(std::int64_t n) { return divisor(static_cast<u32>(std::clamp<std::int64_t>(n, 1, kFarKeys))); }

double scale_log2(f32 scale) { return static_cast<double>(scale) * std::numbers::log2e; }
double scale_log2(const Problem& p) { return scale_log2(p.softmax_scale); }

// See FwdParams::query_scale. What is left of the scale is positive, and no bias overflows when it is divided by it:
// neither one of bf16, unless the scale is below 2^-64, nor one of fp16.
void part_scale(FwdParams& params, Element element) {
  if (params.scale == 0.0F) {
    params.query_scale = 0.0F, params.scale = 1.0F;
  } else {
    const int most = std::ilogb(params.scale);
    const int exponent = element == Element::bf16 ? std::clamp(most, -64, 0) : most < -64 ? -64 : 0;
    const f32 power = std::ldexp(1.0F, exponent);
    params.query_scale = std::copysign(power, params.scale), params.scale = std::abs(params.scale) / power;
  }
  params.scale_log2 = static_cast<f32>(scale_log2(params.scale));
  params.bias_scale = 1.0F / params.scale;
}

// See FwdParams::batches_first. A bias decides, unless all share it: it has more bytes than a mask, and both have more
// than K and V. fwd_mma gains nothing with a bias alone, and loses up to 5% with a causal band (H200, 2026-11-30).
bool batches_first(const ForwardOperands& operands, Family family) {
  if (family == Family::mma && operands.mask.data == nullptr) return false;
  const ScoreView& bias = operands.bias;
  const ScoreView& view = bias.data != nullptr && (bias.stride_b != 0 || bias.stride_h != 0) ? bias : operands.mask;
  return view.data != nullptr && view.stride_b == 0 && view.stride_h != 0 && operands.cu_seqlens_q.data == nullptr;
}

std::int64_t right_bound(const Problem& p, std::int64_t diagonal) {
  const std::int64_t right = p.causal ? diagonal : std::int64_t{kFarKeys};
  return p.has_window_right ? std::min(right, diagonal + p.window_right) : right;
}

// Turns the outputs of a call into the parts of its splits; the sink is left to the kernel that merges them.
void write_parts(FwdParams& params, const Plan& plan, const ForwardOperands& operands, float* parts) {
  const Problem& p = plan.problem;
  const SplitParts layout = split_parts(plan, operands);
  const std::int64_t row = p.num_heads_q * p.head_dim_v;
  params.out = {parts, params.seqlen_q * row, row, p.head_dim_v};
  params.out_f32 = 1;
  params.out_split = layout.rows * row;
  params.lse = parts + layout.lse;
  params.lse_b = 2 * params.seqlen_q * p.num_heads_q;
  params.lse_h = 2;
  params.lse_s = 2 * p.num_heads_q;
  params.lse_split = 2 * layout.rows * p.num_heads_q;
  params.sink = nullptr;
}

}  // namespace

FwdParams make_fwd_params(const Plan& plan, const ForwardOperands& operands, float* parts) {
  const Problem& p = plan.problem;
  const std::int64_t diagonal = p.has_offset ? p.q_offset - p.kv_offset : 0;
  FwdParams params{
      .q = row_tensor(operands.q),
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
      .cu_q = operands.cu_seqlens_q.data,
      .cu_kv = operands.cu_seqlens_kv.data,
      .cu_q_stride = operands.cu_seqlens_q.stride,
      .cu_kv_stride = operands.cu_seqlens_kv.stride,
      .page_table = operands.page_table,
      .page_b = operands.page_b,
      .page_p = operands.page_p,
      .mask = score_tensor(operands.mask),
      .bias = score_tensor(operands.bias),
      .batch = static_cast<i32>(p.batch),
      .num_heads_q = static_cast<i32>(p.num_heads_q),
      .group = static_cast<i32>(heads_per_group(p)),
      .seqlen_q = static_cast<i32>(operands.rows_q),
      .seqlen_kv = static_cast<i32>(std::min<std::int64_t>(operands.rows_kv, kFarKeys)),
      .head_dim_qk = static_cast<i32>(p.head_dim_qk),
      .head_dim_v = static_cast<i32>(p.head_dim_v),
      .tiles_m = static_cast<i32>(plan.tiles_m),
      .heads_in_flight = static_cast<i32>(plan.order.heads_in_flight),
      .head_groups = static_cast<i32>(plan.order.head_groups),
      .num_splits = plan.num_splits,
      .split_keys = static_cast<i32>(plan.split_keys),
      .num_pages = static_cast<i32>(operands.num_pages),
      .page_size = static_cast<i32>(std::min<std::int64_t>(p.page_size, kFarKeys)),
      .out_f32 = p.out_dtype == FOVEA_F32 ? 1 : 0,
      .align_qkv = p.align_qkv,
      .align_out = p.align_out,
      .bias_element = element_of(operands.bias.dtype),
      .left = p.has_window_left ? clamp_far(diagonal - p.window_left) : -kFarKeys,
      .right = clamp_far(right_bound(p, diagonal)),
      .bottom_right = p.has_offset ? 0 : 1,
      .scale = p.softmax_scale,
      .scale_log2 = static_cast<f32>(scale_log2(p)),
      .softcap = p.softcap,
      .softcap_in = p.softcap > 0.0F ? static_cast<f32>(2.0 * scale_log2(p) / static_cast<double>(p.softcap)) : 0.0F,
      .by_page = divisor_of(p.page_size),
      .by_group = divisor_of(heads_per_group(p)),
      .page_box = fwd_wgmma_page_box(p, plan.choice.spec.tile_n)};
  params.batches_first = batches_first(operands, plan.choice.spec.family) ? 1 : 0;
  if (plan.choice.spec.begins_with_bias()) part_scale(params, plan.choice.spec.element);
  if (plan.num_splits > 1) write_parts(params, plan, operands, parts);
  return params;
}

SplitParts split_parts(const Plan& plan, const ForwardOperands& operands) {
  const Problem& p = plan.problem;
  SplitParts parts;
  if (plan.num_splits == 1) return parts;
  parts.rows = p.q_layout == QLayout::varlen ? operands.rows_q : p.batch * p.seqlen_q;
  parts.lse = plan.num_splits * parts.rows * p.num_heads_q * p.head_dim_v;
  parts.bytes = 4 * static_cast<std::uint64_t>(parts.lse + 2 * plan.num_splits * parts.rows * p.num_heads_q);
  constexpr std::int64_t kRowsPerCta = kCombineThreads / 32;
  parts.combine_grid = (parts.rows * p.num_heads_q + kRowsPerCta - 1) / kRowsPerCta;
  return parts;
}

CombineParams make_combine_params(const Plan& plan, const ForwardOperands& operands, const float* parts) {
  const Problem& p = plan.problem;
  const SplitParts layout = split_parts(plan, operands);
  return {.out = row_tensor(operands.out),
          .lse = operands.lse,
          .lse_b = operands.lse_b,
          .lse_h = operands.lse_h,
          .lse_s = operands.lse_s,
          .sink = operands.sink,
          .sink_stride = operands.sink_stride,
          .cu_q = operands.cu_seqlens_q.data,
          .cu_q_stride = operands.cu_seqlens_q.stride,
          .partial_out = parts,
          .partial_sums = parts + layout.lse,
          .batch = static_cast<i32>(p.batch),
          .num_heads_q = static_cast<i32>(p.num_heads_q),
          .head_dim_v = static_cast<i32>(p.head_dim_v),
          .seqlen_q = static_cast<i32>(operands.rows_q),
          .rows = static_cast<i32>(layout.rows),
          .num_splits = plan.num_splits};
}

}  // namespace fovea
