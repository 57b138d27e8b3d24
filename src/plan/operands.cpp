// Which rows and keys of storage belong to a batch entry, and which keys one query can reach by position alone.
#include "plan/operands.h"

#include <algorithm>

namespace fovea {

Sequence sequence(const Problem& problem, const ForwardOperands& operands, std::int64_t b) {
  Sequence seq;
  if (problem.q_layout == QLayout::dense) {
    seq.q_batch = b;
    seq.q_rows = problem.seqlen_q;
  } else {
    seq.q_begin = operands.cu_seqlens_q.at(b);
    seq.q_rows = operands.cu_seqlens_q.at(b + 1) - seq.q_begin;
  }
  seq.q_used = operands.seqused_q.data != nullptr ? operands.seqused_q.at(b) : seq.q_rows;

  if (problem.kv_layout == KvLayout::varlen) {
    seq.kv_begin = operands.cu_seqlens_kv.at(b);
    seq.kv_used = operands.cu_seqlens_kv.at(b + 1) - seq.kv_begin;
  } else {
    seq.kv_batch = b;
    seq.kv_used = problem.seqlen_kv;
  }
  if (operands.seqused_kv.data != nullptr) seq.kv_used = operands.seqused_kv.at(b);

  seq.diagonal = problem.has_offset ? problem.q_offset - problem.kv_offset : seq.kv_used - seq.q_used;
  return seq;
}

KeyRange key_range(const Problem& problem, const Sequence& seq, std::int64_t i) {
  KeyRange range{0, i < seq.q_used ? seq.kv_used : 0};
  const std::int64_t centre = i + seq.diagonal;
  if (problem.causal) range.end = std::min(range.end, centre + 1);
  if (problem.has_window_right) range.end = std::min(range.end, centre + problem.window_right + 1);
  if (problem.has_window_left) range.begin = std::max(range.begin, centre - problem.window_left);
  return range;
}

}  // namespace fovea
