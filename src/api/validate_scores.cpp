// Mask and bias: views broadcastable to [batch, heads, seqlen_q, seqlen_kv], never expanded.
#include <algorithm>

#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

// The extents that a score view may have in this call.
struct ScoreExtents {
  std::int64_t storage_q;  // exact extent with dense queries
  std::int64_t storage_kv;
  std::int64_t least_q;  // least extent otherwise
  std::int64_t least_kv;
};

ScoreExtents score_extents(const fovea_forward_args& a, const ForwardCall& call) {
  const Problem& p = call.problem;
  ScoreExtents e{p.seqlen_q, p.seqlen_kv, call.longest_used_q, p.seqlen_kv};
  if (p.kv_layout == KvLayout::dense) e.storage_kv = a.k.shape[1];
  if (a.q.device_type != FOVEA_DEVICE_CPU) e.least_q = e.least_kv = 1;  // lengths are in device memory: see contract 6
  return e;
}

bool batch_and_heads_fit(const fovea_tensor& t, const Problem& p) {
  const bool batch = t.shape[0] == 1 || t.shape[0] == p.batch;
  const bool heads = t.shape[1] == 1 || t.shape[1] == p.num_heads_q || t.shape[1] == p.num_heads_kv;
  return batch && heads;
}

bool positions_fit(const fovea_tensor& t, const Problem& p, const ScoreExtents& e) {
  const bool rows =
      t.shape[2] == 1 || (p.q_layout == QLayout::dense ? t.shape[2] == e.storage_q : t.shape[2] >= e.least_q);
  const bool keys = p.kv_layout == KvLayout::dense ? t.shape[3] == e.storage_kv : t.shape[3] >= e.least_kv;
  return rows && keys;
}

std::string allowed_text(const Problem& p, const ScoreExtents& e) {
  std::string out = cat("[1 or ", p.batch, ", 1, ", p.num_heads_kv, " or ", p.num_heads_q, ", 1 or ");
  out += p.q_layout == QLayout::dense ? cat(e.storage_q) : cat("at least ", e.least_q);
  out += p.kv_layout == KvLayout::dense ? cat(", ", e.storage_kv) : cat(", at least ", e.least_kv);
  return out + "]";
}

HeadMode head_mode(const fovea_tensor& t, const Problem& p) {
  if (t.shape[1] == 1) return HeadMode::broadcast;
  return t.shape[1] == p.num_heads_q ? HeadMode::q_head : HeadMode::kv_head;
}

ScoreView score_view(const fovea_tensor& t, HeadMode mode, const Problem& p) {
  const auto stride = [&t](int d) { return t.shape[d] > 1 ? t.strides[d] : 0; };
  ScoreView view{.data = t.data,
                 .dtype = dtype_of(t),
                 .stride_b = stride(0),
                 .stride_h = stride(1),
                 .stride_q = stride(2),
                 .stride_k = stride(3),
                 .rows = t.shape[2],
                 .keys = t.shape[3]};
  if (mode == HeadMode::kv_head) view.head_group = heads_per_group(p);
  return view;
}

ViewReads reads_of(const ScoreView& view) {
  const std::int64_t keys_at_once = view.dtype == FOVEA_BOOL ? 16 : 8;
  const auto bytes = static_cast<std::uint64_t>(fovea_dtype_size(view.dtype));
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(view.data) |
                             static_cast<std::uint64_t>(view.stride_b | view.stride_h | view.stride_q) * bytes;
  if (view.stride_k != 1) return ViewReads::elements;
  return bits % 16 == 0 && view.keys % keys_at_once == 0 ? ViewReads::vectors : ViewReads::words;
}

Check check_score(Arg arg, fovea_status status, const fovea_forward_args& a, const ForwardCall& call, HeadMode& mode,
                  ScoreView& view) {
  const fovea_tensor& t = *arg.tensor;
  const ScoreExtents extents = score_extents(a, call);
  if (t.rank != 4 || !batch_and_heads_fit(t, call.problem) || !positions_fit(t, call.problem, extents)) {
    return Error{.status = status,
                 .asked = cat(arg.name, " of shape ", shape_text(t)),
                 .allowed = allowed_text(call.problem, extents),
                 .why = "it is read at [batch, head, query position, key position]",
                 .hint = "give missing dimensions extent 1; repeat a dimension with stride 0 instead of copying"};
  }
  mode = head_mode(t, call.problem);
  view = score_view(t, mode, call.problem);
  view.reads = reads_of(view);
  return {};
}

}  // namespace

Check check_scores(const fovea_forward_args& a, ForwardCall& call) {
  Problem& p = call.problem;
  ForwardOperands& o = call.operands;
  if (present(a.mask)) {
    if (Check bad = check_score({"mask", &a.mask}, FOVEA_MASK_SHAPE, a, call, p.mask, o.mask)) return bad;
  }
  if (present(a.bias)) {
    if (Check bad = check_score({"bias", &a.bias}, FOVEA_BIAS_SHAPE, a, call, p.bias, o.bias)) return bad;
  }
  p.mask_reads = o.mask.reads;
  p.bias_reads = o.bias.reads;
  p.forward_strides = p.forward_strides && std::min({o.bias.stride_b, o.bias.stride_h, o.bias.stride_q}) >= 0;
  p.scores_per_batch = o.mask.stride_b != 0 || o.bias.stride_b != 0;
  return {};
}

}  // namespace fovea
