// Shapes of q, k, v, out, lse, sink and of the index tensors; fills the row views of the operands.
#include <cmath>

#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

RowView dense_view(const fovea_tensor& t) {
  return {t.data, dtype_of(t), t.strides[0], t.strides[1], t.strides[2], t.strides[3]};
}
RowView packed_view(const fovea_tensor& t) {
  return {t.data, dtype_of(t), 0, t.strides[0], t.strides[1], t.strides[2]};
}
RowView row_view(const fovea_tensor& t) { return t.rank == 4 ? dense_view(t) : packed_view(t); }

bool strided_rows(const fovea_tensor& t) { return t.shape[t.rank - 1] > 1 && t.strides[t.rank - 1] != 1; }

// The byte addresses of all rows, or-ed as far as their alignment shows: odd when a row's elements are not neighbours.
// Dimensions of extent 1 add nothing to an address.
std::uint64_t row_bits(const fovea_tensor& t) {
  if (strided_rows(t)) return 1;
  const std::uint64_t element = element_size(t.dtype);
  std::uint64_t bits = reinterpret_cast<std::uintptr_t>(t.data);
  for (std::int32_t i = 0; i + 1 < t.rank; ++i) {
    if (t.shape[i] > 1) bits |= static_cast<std::uint64_t>(t.strides[i]) * element;
  }
  return bits;
}

// Whether every dimension of more than one element goes forward in memory.
bool forward_strides(const fovea_tensor& t) {
  bool forward = true;
  for (std::int32_t i = 0; i < t.rank; ++i) forward &= t.shape[i] <= 1 || t.strides[i] > 0;
  return forward;
}

// The largest power of two up to 16 that divides all addresses or-ed in `bits`.
std::int32_t alignment(std::uint64_t bits) {
  bits |= 16U;
  return static_cast<std::int32_t>(bits & -bits);
}

[[gnu::cold]] Error no_head_dim(const char* name, std::int64_t value) {
  return {.status = FOVEA_HEAD_DIM,
          .asked = cat(name, "=", value),
          .allowed = "a head dim of at least 1",
          .why = "a score is a sum over the head dim",
          .hint = "the last dimension of q, k, v and out is the head dim; check the order of dimensions"};
}

[[gnu::cold]] Error heads_do_not_divide(std::int64_t q_heads, std::int64_t kv_heads) {
  return {.status = FOVEA_HEAD_RATIO,
          .asked = cat("num_heads_q=", q_heads, ", num_heads_kv=", kv_heads),
          .allowed = "num_heads_q a multiple of num_heads_kv",
          .why = "query head h reads kv head h / (num_heads_q / num_heads_kv)",
          .hint = "check the order of dimensions: [batch, seqlen, heads, head_dim], or [rows, heads, head_dim]"};
}

Check check_head_dim(const char* name, std::int64_t value) {
  if (value >= 1) return {};
  return no_head_dim(name, value);
}

Check check_heads(std::int64_t q_heads, std::int64_t kv_heads) {
  if (kv_heads == 0 ? q_heads == 0 : q_heads % kv_heads == 0) return {};
  return heads_do_not_divide(q_heads, kv_heads);
}

Check check_query(const fovea_forward_args& a, Problem& p) {
  const Arg q{"q", &a.q};
  if (present(a.cu_seqlens_q)) {
    p.q_layout = QLayout::varlen;
    if (Check bad = check_rank(q, 3, "[total_q, num_heads_q, head_dim_qk] with cu_seqlens_q")) return bad;
    const Arg cu{"cu_seqlens_q", &a.cu_seqlens_q};
    if (Check bad = check_rank(cu, 1, "[batch + 1]")) return bad;
    if (a.cu_seqlens_q.shape[0] < 1) {
      return check_shape(cu, {1}, "[batch + 1] with batch >= 0, at least", FOVEA_SHAPE);
    }
    p.batch = a.cu_seqlens_q.shape[0] - 1;
  } else {
    if (Check bad = check_rank(q, 4, "[batch, seqlen_q, num_heads_q, head_dim_qk]")) return bad;
    p.batch = a.q.shape[0];
    p.seqlen_q = a.q.shape[1];
  }
  p.num_heads_q = a.q.shape[a.q.rank - 2];
  p.head_dim_qk = a.q.shape[a.q.rank - 1];
  return check_head_dim("head_dim_qk", p.head_dim_qk);
}

Check check_page_storage(const fovea_forward_args& a, Problem& p) {
  p.kv_layout = KvLayout::paged;
  p.page_size = a.k.shape[1];
  const Arg table{"page_table", &a.page_table};
  if (Check bad = check_rank(table, 2, "[batch, max_pages]")) return bad;
  if (Check bad = check_shape(table, {p.batch, a.page_table.shape[1]}, "[batch, max_pages]", FOVEA_SHAPE)) return bad;
  if (p.page_size >= 1) return {};
  return Error{.status = FOVEA_SHAPE,
               .asked = cat("k of shape ", shape_text(a.k), ": page_size=0"),
               .allowed = "page_size of at least 1",
               .why = "key j lies in page j / page_size",
               .hint = "paged k and v are [pages, page_size, num_heads_kv, head_dim]"};
}

// k and v agree with each other and with the layout; fills kv heads and head_dim_v.
Check check_keys(const fovea_forward_args& a, Problem& p) {
  const bool varlen = present(a.cu_seqlens_kv);
  const std::int32_t rank = varlen ? 3 : 4;
  const char* meaning = varlen                  ? "[total_kv, num_heads_kv, head_dim] with cu_seqlens_kv"
                        : present(a.page_table) ? "[pages, page_size, num_heads_kv, head_dim] with page_table"
                                                : "[batch, seqlen_kv, num_heads_kv, head_dim]";
  const Arg k{"k", &a.k};
  const Arg v{"v", &a.v};
  if (Check bad = check_rank(k, rank, meaning)) return bad;
  if (Check bad = check_rank(v, rank, meaning)) return bad;
  p.num_heads_kv = a.k.shape[rank - 2];
  p.head_dim_v = a.v.shape[rank - 1];
  if (Check bad = check_head_dim("head_dim_v", p.head_dim_v)) return bad;
  if (varlen) {
    p.kv_layout = KvLayout::varlen;
    if (Check bad = check_shape({"cu_seqlens_kv", &a.cu_seqlens_kv}, {p.batch + 1}, "[batch + 1]", FOVEA_SHAPE)) {
      return bad;
    }
    if (Check bad = check_shape(k, {a.k.shape[0], p.num_heads_kv, p.head_dim_qk}, meaning, FOVEA_SHAPE)) return bad;
    return check_shape(v, {a.k.shape[0], p.num_heads_kv, p.head_dim_v}, meaning, FOVEA_SHAPE);
  }
  std::int64_t first = p.batch;
  if (present(a.page_table)) {
    if (Check bad = check_page_storage(a, p)) return bad;
    first = a.k.shape[0];
  }
  if (Check bad = check_shape(k, {first, a.k.shape[1], p.num_heads_kv, p.head_dim_qk}, meaning, FOVEA_SHAPE)) {
    return bad;
  }
  return check_shape(v, {first, a.k.shape[1], p.num_heads_kv, p.head_dim_v}, meaning, FOVEA_SHAPE);
}

Check check_outputs(const fovea_forward_args& a, Problem& p) {
  const Arg out{"out", &a.out};
  const Arg lse{"lse", &a.lse};
  p.has_lse = present(a.lse);
  if (p.q_layout == QLayout::varlen) {
    const std::int64_t rows = a.q.shape[0];
    if (Check bad = check_rank(out, 3, "[total_q, num_heads_q, head_dim_v]")) return bad;
    if (Check bad =
            check_shape(out, {rows, p.num_heads_q, p.head_dim_v}, "[total_q, num_heads_q, head_dim_v]", FOVEA_SHAPE)) {
      return bad;
    }
    if (!p.has_lse) return {};
    if (Check bad = check_rank(lse, 2, "[num_heads_q, total_q]")) return bad;
    return check_shape(lse, {p.num_heads_q, rows}, "[num_heads_q, total_q]", FOVEA_SHAPE);
  }
  if (Check bad = check_rank(out, 4, "[batch, seqlen_q, num_heads_q, head_dim_v]")) return bad;
  if (Check bad = check_shape(out, {p.batch, p.seqlen_q, p.num_heads_q, p.head_dim_v},
                              "[batch, seqlen_q, num_heads_q, head_dim_v]", FOVEA_SHAPE)) {
    return bad;
  }
  if (!p.has_lse) return {};
  if (Check bad = check_rank(lse, 3, "[batch, num_heads_q, seqlen_q]")) return bad;
  return check_shape(lse, {p.batch, p.num_heads_q, p.seqlen_q}, "[batch, num_heads_q, seqlen_q]", FOVEA_SHAPE);
}

Check check_small_operands(const fovea_forward_args& a, Problem& p) {
  for (const Arg& arg : {Arg{"seqused_q", &a.seqused_q}, Arg{"seqused_kv", &a.seqused_kv}}) {
    if (!present(*arg.tensor)) continue;
    if (Check bad = check_rank(arg, 1, "[batch]")) return bad;
    if (Check bad = check_shape(arg, {p.batch}, "[batch]", FOVEA_SHAPE)) return bad;
  }
  p.has_sink = present(a.sink);
  if (!p.has_sink) return {};
  return check_shape({"sink", &a.sink}, {p.num_heads_q}, "[num_heads_q]", FOVEA_SINK_SHAPE);
}

void fill_operands(const fovea_forward_args& a, ForwardOperands& o) {
  o.q = row_view(a.q);
  o.k = row_view(a.k);
  o.v = row_view(a.v);
  o.out = row_view(a.out);
  if (present(a.lse)) {
    const std::int32_t first = a.lse.rank - 2;
    o.lse = static_cast<float*>(a.lse.data);
    o.lse_b = first == 1 ? a.lse.strides[0] : 0;
    o.lse_h = a.lse.strides[first];
    o.lse_s = a.lse.strides[first + 1];
  }
  if (present(a.sink)) {
    o.sink = static_cast<const float*>(a.sink.data);
    o.sink_stride = a.sink.strides[0];
  }
}

}  // namespace

Check check_shapes(const fovea_forward_args& a, ForwardCall& call) {
  Problem& p = call.problem;
  if (Check bad = check_query(a, p)) return bad;
  if (Check bad = check_keys(a, p)) return bad;
  if (Check bad = check_heads(p.num_heads_q, p.num_heads_kv)) return bad;
  if (Check bad = check_outputs(a, p)) return bad;
  if (Check bad = check_small_operands(a, p)) return bad;
  p.unit_stride_d = !strided_rows(a.q) && !strided_rows(a.k) && !strided_rows(a.v);
  p.align_qkv = alignment(row_bits(a.q) | row_bits(a.k) | row_bits(a.v));
  p.align_out = alignment(row_bits(a.out));
  p.forward_strides = forward_strides(a.q) && forward_strides(a.k) && forward_strides(a.v) && forward_strides(a.out);
  p.has_seqused = present(a.seqused_q) || present(a.seqused_kv);
  if ((a.flags & FOVEA_FLAG_SOFTMAX_SCALE) == 0) {
    p.softmax_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.head_dim_qk)));
  }
  fill_operands(a, call.operands);
  return {};
}

}  // namespace fovea
