// TileTask: a member of a task of the cpu backend - some query rows of one kv head against a range of keys.
// The rows of all query heads that share the kv head are packed together: packed row r is query r / group of head
// kv_head*group + r % group, so K and V are read once for the whole group and decode fills its vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plan/cpu_layout.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::cpu {

struct TileTask {
  const Plan* plan = nullptr;
  const ForwardOperands* operands = nullptr;
  CpuTileLayout layout;
  Sequence seq;
  std::int64_t b = 0;
  std::int64_t kv_head = 0;
  std::int64_t group = 1;      // query heads per kv head
  std::int64_t row_begin = 0;  // packed rows [row_begin, row_begin + rows)
  std::int64_t rows = 0;
  std::int64_t key_begin = 0;  // keys of this split
  std::int64_t key_end = 0;
  float* partial_out = nullptr;   // null: write out and lse; else [total_q*num_heads_q][head_dim_v] fp32
  float* partial_m = nullptr;     // [total_q*num_heads_q]; lse = m + ln l, kept apart: at |m| = 1e8 the sum loses ln l
  float* partial_ln_l = nullptr;  // likewise
  std::int64_t partial_base = 0;  // query row (q_begin + i) of partial row 0: cu_seqlens_q[0], or 0
  std::byte* scratch = nullptr;

  const Problem& problem() const { return plan->problem; }
  std::int64_t query(std::int64_t row) const { return (row_begin + row) / group; }
  // Rows of this task that are queries: the rest lie past seqused_q, see no key and have no row in mask or bias.
  std::int64_t used_rows() const {
    const std::int64_t used = seq.q_used * group - row_begin;
    return used < 0 ? 0 : (used < rows ? used : rows);
  }
  std::int64_t head(std::int64_t row) const { return kv_head * group + (row_begin + row) % group; }
  // Row of the partial results that a query of this task owns for a head.
  std::int64_t partial_row(std::int64_t query_index, std::int64_t head_index) const {
    return (seq.q_batch * problem().seqlen_q + seq.q_begin - partial_base + query_index) * problem().num_heads_q +
           head_index;
  }
  template <class T>
  T* buffer(std::uint64_t offset) const {
    return reinterpret_cast<T*>(scratch + offset);
  }
};

inline std::size_t element_bytes(fovea_dtype dtype) { return dtype == FOVEA_F32 ? 4 : 2; }

// Of `count` elements of q, k, v or out.
inline std::int64_t view_bytes(const RowView& view, std::int64_t count) {
  return count * static_cast<std::int64_t>(element_bytes(view.dtype));
}

inline const std::byte* address(const RowView& view, std::int64_t b, std::int64_t s, std::int64_t h) {
  const std::int64_t offset = b * view.stride_b + s * view.stride_s + h * view.stride_h;
  return static_cast<const std::byte*>(view.data) + view_bytes(view, offset);
}

// The rows of a task in q or out one after the other, found by additions alone: begins at `row` and stays at the last.
class RowWalk {
 public:
  RowWalk(const TileTask& task, const RowView& view, std::int64_t row = 0)
      : query_(task.query(row)),
        head_(task.head(row)),
        last_head_(task.kv_head * task.group + task.group - 1),
        left_(task.rows - 1 - row),
        group_(task.group),
        head_bytes_(view_bytes(view, view.stride_h)),
        query_bytes_(view_bytes(view, view.stride_s) - (group_ - 1) * head_bytes_),
        at_(address(view, task.seq.q_batch, task.seq.q_begin + query_, head_)) {}

  std::int64_t query() const { return query_; }
  std::int64_t head() const { return head_; }
  const std::byte* row() const { return at_; }
  void next() {
    if (left_ <= 0) return;
    --left_;
    if (head_ < last_head_) {
      ++head_;
      at_ += head_bytes_;
    } else {
      head_ -= group_ - 1;
      ++query_;
      at_ += query_bytes_;
    }
  }

 private:
  std::int64_t query_, head_, last_head_, left_, group_;
  std::int64_t head_bytes_, query_bytes_;  // to the next head, and from the last one to the next query's first
  const std::byte* at_;
};

// Row of key `key` (position inside the sequence) in k or v.
inline const std::byte* key_address(const TileTask& task, const RowView& view, std::int64_t key) {
  const ForwardOperands& ops = *task.operands;
  if (task.problem().kv_layout == KvLayout::paged) {
    const std::int64_t page_size = task.problem().page_size;
    const std::int64_t page = ops.page_table[task.b * ops.page_b + (key / page_size) * ops.page_p];
    return address(view, page, key % page_size, task.kv_head);
  }
  return address(view, task.seq.kv_batch, task.seq.kv_begin + key, task.kv_head);
}

// Address of score element (row, key) of a mask or bias view.
inline const std::byte* score_address(const TileTask& task, const ScoreView& view, std::size_t element,
                                      std::int64_t row, std::int64_t key) {
  const std::int64_t offset = task.b * view.stride_b + (task.head(row) / view.head_group) * view.stride_h +
                              task.query(row) * view.stride_q + key * view.stride_k;
  return static_cast<const std::byte*>(view.data) + offset * static_cast<std::int64_t>(element);
}

// Runs one task on the best SIMD target of this machine: its members, pairs of batch entry and kv head that differ in
// their rows and keys alone, go through each sub-tile together, so that rows of mask and bias that they share come from
// cache.
void tile_f32(std::span<const TileTask> members);
void tile_amx_bf16(std::span<const TileTask> members);  // only where CpuFeatures::amx_bf16 holds

}  // namespace fovea::cpu
