// Follows docs/contract.md, sections 1 and 2, on the public structs alone.
#include "tools/fovea/sequences.h"

#include <algorithm>

namespace fovea::cli {
namespace {

std::int64_t index_at(const fovea_tensor& tensor, std::int64_t i) {
  return static_cast<const std::int32_t*>(tensor.data)[i * tensor.strides[0]];
}

std::int64_t batch_of(const fovea_forward_args& args) {
  if (args.cu_seqlens_q.rank > 0) return args.cu_seqlens_q.shape[0] - 1;
  return args.q.shape[0];
}

struct Span {
  std::int64_t begin, rows, used;
};

Span span_of(const fovea_tensor& cu_seqlens, const fovea_tensor& seqused, std::int64_t dense_rows, std::int64_t b) {
  Span span{0, dense_rows, 0};
  if (cu_seqlens.rank > 0) {
    span.begin = index_at(cu_seqlens, b);
    span.rows = index_at(cu_seqlens, b + 1) - span.begin;
  }
  span.used = seqused.rank > 0 ? index_at(seqused, b) : span.rows;
  return span;
}

}  // namespace

std::vector<SequenceRows> sequences(const fovea_forward_args& args) {
  const bool packed = args.cu_seqlens_q.rank > 0;
  std::vector<SequenceRows> result;
  for (std::int64_t b = 0; b < batch_of(args); ++b) {
    const Span q = span_of(args.cu_seqlens_q, args.seqused_q, args.q.shape[1], b);
    const Span kv = span_of(args.cu_seqlens_kv, args.seqused_kv, args.k.shape[1], b);
    std::int64_t diagonal = kv.used - q.used;
    if ((args.flags & (FOVEA_FLAG_Q_OFFSET | FOVEA_FLAG_KV_OFFSET)) != 0) diagonal = args.q_offset - args.kv_offset;
    result.push_back({packed ? 0 : b, q.begin, q.rows, q.used, kv.used, diagonal});
  }
  return result;
}

std::int64_t visible_pairs(const fovea_forward_args& args) {
  std::int64_t pairs = 0;
  for (const SequenceRows& s : sequences(args)) {
    for (std::int64_t i = 0; i < s.used; ++i) {
      const std::int64_t at = i + s.diagonal;
      std::int64_t first = 0, last = s.kv_used - 1;
      if ((args.flags & FOVEA_FLAG_CAUSAL) != 0) last = std::min(last, at);
      if ((args.flags & FOVEA_FLAG_WINDOW_LEFT) != 0) first = std::max(first, at - args.window_left);
      if ((args.flags & FOVEA_FLAG_WINDOW_RIGHT) != 0 && args.window_right < s.kv_used) {
        last = std::min(last, at + args.window_right);
      }
      pairs += std::max<std::int64_t>(last - first + 1, 0);
    }
  }
  return pairs;
}

double forward_flops(const fovea_forward_args& args) {
  const fovea_tensor& q = args.q;
  const double heads = static_cast<double>(q.shape[q.rank - 2]);
  const double dims = static_cast<double>(q.shape[q.rank - 1]) + static_cast<double>(args.v.shape[args.v.rank - 1]);
  return 2.0 * static_cast<double>(visible_pairs(args)) * heads * dims;
}

}  // namespace fovea::cli
