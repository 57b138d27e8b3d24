// One batch entry as a tile sees it: where its rows lie, how many of them are queries and keys, and where its diagonal
// runs.
#pragma once

#include "isa/isa.h"
#include "spec/fwd_params.h"

namespace fovea {

// Query i in [0, q_used) sees key j in [0, kv_used) iff i + left <= j <= i + right.
struct FwdSequence {
  i32 q_used, kv_used;
  i32 left, right;
  i32 q_rows;             // of storage: all of them are written
  i32 q_batch, kv_batch;  // index for the batch strides
  i32 q_begin, kv_begin;  // packed storage: the sequence's first row
  i32 batch;              // index for lengths, pages, mask and bias
};

// A used length from memory, brought into [0, storage]; the storage where there is none.
FOVEA_INLINE i32 used_length(const i32* used, i64 index, i32 storage) {
  if (used == nullptr) return storage;
  return max(0, min(static_cast<i32>(isa::ld_global<u32>(used + index)), storage));
}

struct RowRange {
  i32 begin, rows;
};

// Sequence `batch` of packed storage, brought into [0, storage).
FOVEA_INLINE RowRange packed_rows(const i32* cu, i64 stride, i32 batch, i32 storage) {
  const i32 begin = used_length(cu, batch * stride, storage);
  const i32 end = used_length(cu, (batch + 1) * stride, storage);
  return {begin, max(0, end - begin)};
}

// Which of its sequence's pages a key lies in.
FOVEA_INLINE i32 page_index(const FwdParams& p, i32 key) { return quotient(key, p.by_page); }

// The page that the table names, brought into [0, num_pages).
FOVEA_INLINE i32 page_of(const FwdParams& p, i32 batch, i32 index) {
  const i32* entry = p.page_table + batch * p.page_b + index * p.page_p;
  return max(0, min(static_cast<i32>(isa::ld_global_nc<u32>(entry)), p.num_pages - 1));
}

FOVEA_INLINE FwdSequence fwd_sequence(const FwdParams& p, i32 batch) {
  const bool packed_q = p.cu_q != nullptr;
  const bool packed_kv = p.cu_kv != nullptr;
  const RowRange q = packed_q ? packed_rows(p.cu_q, p.cu_q_stride, batch, p.seqlen_q) : RowRange{0, p.seqlen_q};
  const RowRange kv = packed_kv ? packed_rows(p.cu_kv, p.cu_kv_stride, batch, p.seqlen_kv) : RowRange{0, p.seqlen_kv};
  FwdSequence seq;
  seq.q_used = used_length(p.used_q, batch * p.used_q_stride, q.rows);
  seq.kv_used = used_length(p.used_kv, batch * p.used_kv_stride, kv.rows);
  const i32 diagonal = p.bottom_right != 0 ? seq.kv_used - seq.q_used : 0;
  seq.left = p.left + diagonal;
  seq.right = p.right + diagonal;
  seq.q_rows = q.rows;
  seq.q_batch = packed_q ? 0 : batch;
  seq.kv_batch = packed_kv ? 0 : batch;
  seq.q_begin = q.begin;
  seq.kv_begin = kv.begin;
  seq.batch = batch;
  return seq;
}

}  // namespace fovea
