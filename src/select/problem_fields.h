// visit_fields: the one list of a Problem's fields, by name. Digest, JSON and the tests that flip every field use it;
// a field added to Problem and not listed here does not compile.
#pragma once

#include <string_view>

#include "select/problem.h"

namespace fovea {

std::string_view name(QLayout layout);
std::string_view name(KvLayout layout);
std::string_view name(HeadMode mode);
std::string_view name(ViewReads reads);
std::string_view name(fovea_device_type device);

// Calls visit(name, field) for every field of `problem` (const or not), in declaration order.
template <class P, class Visit>
void visit_fields(P& problem, Visit&& visit) {
  auto& [dtype, out_dtype, bias_dtype, device, q_layout, kv_layout, mask, bias, scores_per_batch, causal,
         has_window_left, has_window_right, has_offset, has_sink, has_lse, batch_invariant, forbid_slow, unit_stride_d,
         forward_strides, has_seqused, mask_reads, bias_reads, batch, num_heads_q, num_heads_kv, head_dim_qk,
         head_dim_v, seqlen_q, seqlen_kv, total_q, page_size, window_left, window_right, q_offset, kv_offset,
         requested_splits, align_qkv, align_out, softmax_scale, softcap] = problem;
  visit("dtype", dtype);
  visit("out_dtype", out_dtype);
  visit("bias_dtype", bias_dtype);
  visit("device", device);
  visit("q_layout", q_layout);
  visit("kv_layout", kv_layout);
  visit("mask", mask);
  visit("bias", bias);
  visit("scores_per_batch", scores_per_batch);
  visit("causal", causal);
  visit("has_window_left", has_window_left);
  visit("has_window_right", has_window_right);
  visit("has_offset", has_offset);
  visit("has_sink", has_sink);
  visit("has_lse", has_lse);
  visit("batch_invariant", batch_invariant);
  visit("forbid_slow", forbid_slow);
  visit("unit_stride_d", unit_stride_d);
  visit("forward_strides", forward_strides);
  visit("has_seqused", has_seqused);
  visit("mask_reads", mask_reads);
  visit("bias_reads", bias_reads);
  visit("batch", batch);
  visit("num_heads_q", num_heads_q);
  visit("num_heads_kv", num_heads_kv);
  visit("head_dim_qk", head_dim_qk);
  visit("head_dim_v", head_dim_v);
  visit("seqlen_q", seqlen_q);
  visit("seqlen_kv", seqlen_kv);
  visit("total_q", total_q);
  visit("page_size", page_size);
  visit("window_left", window_left);
  visit("window_right", window_right);
  visit("q_offset", q_offset);
  visit("kv_offset", kv_offset);
  visit("requested_splits", requested_splits);
  visit("align_qkv", align_qkv);
  visit("align_out", align_out);
  visit("softmax_scale", softmax_scale);
  visit("softcap", softcap);
}

}  // namespace fovea
