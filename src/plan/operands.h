// ForwardOperands: the pointers and strides of one validated forward call, normalised so that a kernel needs no rank.
// Strides count elements; an absent dimension has stride 0. Sequence gives the geometry of one batch entry.
#pragma once

#include <cstdint>

#include "fovea/fovea.h"
#include "select/problem.h"

namespace fovea {

// q, k, v or out. Element (b, s, h, d); varlen: b = 0 and s counts packed rows; paged: b is the page, s the slot.
struct RowView {
  void* data = nullptr;
  fovea_dtype dtype = FOVEA_F32;
  std::int64_t stride_b = 0, stride_s = 0, stride_h = 0, stride_d = 0;
};

// mask or bias. Element (b, hq, i, j) lies at b*stride_b + (hq / head_group)*stride_h + i*stride_q + j*stride_k.
struct ScoreView {
  const void* data = nullptr;  // null = absent
  fovea_dtype dtype = FOVEA_BOOL;
  std::int64_t stride_b = 0, stride_h = 0, stride_q = 0, stride_k = 0;
  std::int64_t rows = 1, keys = 1;  // extents of i and j; 1 where stride_q or stride_k broadcasts
  ViewReads reads = ViewReads::elements;
  std::int64_t head_group = 1;  // 1 for Hq heads, Hq/Hkv for Hkv heads; stride_h is 0 for one head
};

struct IndexView {
  const std::int32_t* data = nullptr;  // null = absent
  std::int64_t stride = 0;
  std::int64_t at(std::int64_t i) const { return data[i * stride]; }
};

struct ForwardOperands {
  RowView q, k, v, out;
  float* lse = nullptr;  // element (b, h, s) at b*lse_b + h*lse_h + s*lse_s; varlen: lse_b = 0, s counts packed rows
  std::int64_t lse_b = 0, lse_h = 0, lse_s = 0;
  ScoreView mask, bias;
  const float* sink = nullptr;
  std::int64_t sink_stride = 0;
  IndexView cu_seqlens_q, cu_seqlens_kv, seqused_q, seqused_kv;
  const std::int32_t* page_table = nullptr;  // entry (b, p) at b*page_b + p*page_p
  std::int64_t page_b = 0, page_p = 0;
  std::int64_t num_pages = 0;            // pages of k and v
  std::int64_t max_pages = 0;            // columns of page_table
  std::int64_t rows_q = 0, rows_kv = 0;  // rows of storage of a batch entry of q or k; varlen: of all together
};

// One batch entry. Row i in [0, q_rows) of the sequence is row q_begin + i of q/out/lse (with batch index q_batch).
struct Sequence {
  std::int64_t q_batch = 0;  // index for stride_b of q, out and lse_b
  std::int64_t q_begin = 0;
  std::int64_t q_rows = 0;    // rows of storage, all of them written
  std::int64_t q_used = 0;    // rows that are queries; the others are empty rows
  std::int64_t kv_batch = 0;  // index for stride_b of k, v (0 for varlen; unused when paged)
  std::int64_t kv_begin = 0;
  std::int64_t kv_used = 0;
  std::int64_t diagonal = 0;  // causal: j <= i + diagonal; window likewise (contract section 2)
};

// Geometry of batch entry b. `problem` and `operands` must come from a validated call.
Sequence sequence(const Problem& problem, const ForwardOperands& operands, std::int64_t b);

// Keys [begin, end) that causal, window and length rules leave to query i of a sequence; begin >= end when none.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
};
KeyRange key_range(const Problem& problem, const Sequence& seq, std::int64_t i);

}  // namespace fovea
