// Sequences and addresses: which rows belong to batch entry b, and where a row, a key or a score operand lies.
// This is all that dense, varlen and paged layouts mean; the arithmetic on rows knows nothing of them.
#pragma once

#include <cstdint>

#include "reference/numbers.h"

namespace fovea::reference {

inline bool present(const fovea_tensor& t) { return t.rank != 0; }

inline std::int64_t index_at(const fovea_tensor& t, std::int64_t i) {
  return load_as<std::int32_t>(t, i * t.strides[0]);
}

// One batch entry.
struct Sequence {
  std::int64_t b = 0;
  std::int64_t q_rows = 0;     // query rows of storage: each is written
  std::int64_t seqlen_q = 0;   // used query rows; the rest are empty rows
  std::int64_t seqlen_kv = 0;  // used keys
  std::int64_t diagonal = 0;   // query i stands at key position i + diagonal
};

inline std::int64_t num_heads_q(const fovea_forward_args& a) { return a.q.shape[a.q.rank - 2]; }
inline std::int64_t num_heads_kv(const fovea_forward_args& a) { return a.k.shape[a.k.rank - 2]; }
inline std::int64_t head_dim(const fovea_tensor& t) { return t.shape[t.rank - 1]; }

inline std::int64_t batch(const fovea_forward_args& a) {
  return present(a.cu_seqlens_q) ? a.cu_seqlens_q.shape[0] - 1 : a.q.shape[0];
}

// Rows of storage of entry b: dense, or between two offsets.
inline std::int64_t stored_rows(const fovea_tensor& t, const fovea_tensor& cu_seqlens, std::int64_t b) {
  return present(cu_seqlens) ? index_at(cu_seqlens, b + 1) - index_at(cu_seqlens, b) : t.shape[1];
}

inline Sequence sequence(const fovea_forward_args& a, std::int64_t b) {
  Sequence s;
  s.b = b;
  s.q_rows = stored_rows(a.q, a.cu_seqlens_q, b);
  s.seqlen_q = present(a.seqused_q) ? index_at(a.seqused_q, b) : s.q_rows;
  s.seqlen_kv = present(a.seqused_kv) ? index_at(a.seqused_kv, b) : stored_rows(a.k, a.cu_seqlens_kv, b);
  const std::int64_t q_offset = (a.flags & FOVEA_FLAG_Q_OFFSET) != 0 ? a.q_offset : 0;
  const std::int64_t kv_offset = (a.flags & FOVEA_FLAG_KV_OFFSET) != 0 ? a.kv_offset : 0;
  const bool shifted = (a.flags & (FOVEA_FLAG_Q_OFFSET | FOVEA_FLAG_KV_OFFSET)) != 0;
  s.diagonal = shifted ? q_offset - kv_offset : s.seqlen_kv - s.seqlen_q;
  return s;
}

// Row i of entry b, head h, in q, k, v or out: [B, S, H, D], or [T, H, D] with offsets.
inline std::int64_t row_at(const fovea_tensor& t, const fovea_tensor& cu_seqlens, std::int64_t b, std::int64_t i,
                           std::int64_t h) {
  if (present(cu_seqlens)) return (index_at(cu_seqlens, b) + i) * t.strides[0] + h * t.strides[1];
  return b * t.strides[0] + i * t.strides[1] + h * t.strides[2];
}

// Key j of entry b in k or v: a row, or with pages slot j % page_size of page page_table[b, j / page_size].
inline std::int64_t key_at(const fovea_forward_args& a, const fovea_tensor& t, std::int64_t b, std::int64_t j,
                           std::int64_t hkv) {
  if (!present(a.page_table)) return row_at(t, a.cu_seqlens_kv, b, j, hkv);
  const std::int64_t page_size = t.shape[1];
  const std::int64_t entry = b * a.page_table.strides[0] + (j / page_size) * a.page_table.strides[1];
  const std::int64_t page = load_as<std::int32_t>(a.page_table, entry);
  return page * t.strides[0] + (j % page_size) * t.strides[1] + hkv * t.strides[2];
}

// lse [B, Hq, Sq], or [Hq, Tq] with offsets.
inline std::int64_t lse_at(const fovea_tensor& lse, const fovea_tensor& cu_seqlens_q, std::int64_t b, std::int64_t i,
                           std::int64_t h) {
  if (present(cu_seqlens_q)) return h * lse.strides[0] + (index_at(cu_seqlens_q, b) + i) * lse.strides[1];
  return b * lse.strides[0] + h * lse.strides[1] + i * lse.strides[2];
}

// Query heads that read a kv head; 0 where there are no heads at all.
inline std::int64_t heads_per_kv_head(const fovea_forward_args& a) {
  return num_heads_kv(a) == 0 ? 0 : num_heads_q(a) / num_heads_kv(a);
}

// Element [b, h, i, j] of a mask or bias [B|1, Hq|Hkv|1, Sq|1, Sk].
inline std::int64_t score_operand_at(const fovea_forward_args& a, const fovea_tensor& t, std::int64_t b, std::int64_t h,
                                     std::int64_t i, std::int64_t j) {
  const std::int64_t group = heads_per_kv_head(a);
  const std::int64_t head = t.shape[1] == num_heads_q(a) ? h : h / group;
  return (t.shape[0] == 1 ? 0 : b * t.strides[0]) + (t.shape[1] == 1 ? 0 : head * t.strides[1]) +
         (t.shape[2] == 1 ? 0 : i * t.strides[2]) + j * t.strides[3];
}

}  // namespace fovea::reference
