// The few argument checks that keep a malformed call from crashing, and their report in the C ABI's terms.
// Full validation is the library's.
#pragma once

#include <cstdint>
#include <cstdio>

#include "reference/sequence.h"

namespace fovea::reference {

// Rows i with i % stride == phase.
struct RowFilter {
  std::int64_t stride = 1;
  std::int64_t phase = 0;
};

struct Refusal {
  fovea_status status = FOVEA_OK;
  const char* code = "";
  const char* asked = "";
  const char* allowed = "";
};

inline fovea_status report(const Refusal& refusal, fovea_error* error) {
  if (error != nullptr && refusal.status != FOVEA_OK) {
    error->status = refusal.status;
    std::snprintf(error->code, sizeof(error->code), "%s", refusal.code);
    std::snprintf(error->asked, sizeof(error->asked), "%s", refusal.asked);
    std::snprintf(error->allowed, sizeof(error->allowed), "%s", refusal.allowed);
    std::snprintf(error->why, sizeof(error->why), "the reference evaluates well-formed calls only");
    std::snprintf(error->hint, sizeof(error->hint), "fovea_supports() checks a call in full");
  }
  return refusal.status;
}

inline bool is_real(const fovea_tensor& t) {
  return t.dtype == FOVEA_F64 || t.dtype == FOVEA_F32 || t.dtype == FOVEA_BF16 || t.dtype == FOVEA_F16;
}

inline Refusal check_forward(const fovea_forward_args* args, RowFilter filter) {
  if (args == nullptr) return {FOVEA_NULL_POINTER, "null_pointer", "args = null", "an argument struct"};
  const fovea_forward_args& a = *args;
  if (filter.stride < 1) return {FOVEA_SHAPE, "shape", "row_stride < 1", "row_stride >= 1"};
  for (const fovea_tensor* t : {&a.q, &a.k, &a.v, &a.out}) {
    if (!present(*t)) return {FOVEA_NULL_POINTER, "null_pointer", "q, k, v or out absent", "all four"};
    if (!is_real(*t)) return {FOVEA_DTYPE, "dtype", "q, k, v or out not real", "f64, f32, bf16, f16"};
  }
  const int q_rank = present(a.cu_seqlens_q) ? 3 : 4;
  const int kv_rank = present(a.cu_seqlens_kv) ? 3 : 4;
  if (a.q.rank != q_rank || a.out.rank != q_rank || a.k.rank != kv_rank || a.v.rank != kv_rank)
    return {FOVEA_RANK, "rank", "rank of q, k, v or out", "3 with cu_seqlens, else 4"};
  if (present(a.page_table) && !present(a.seqused_kv))
    return {FOVEA_PAGED_ARGUMENTS, "paged_arguments", "page_table alone", "page_table with seqused_kv"};
  const std::int64_t hq = num_heads_q(a), hkv = num_heads_kv(a);
  if (hkv == 0 ? hq != 0 : hq % hkv != 0)
    return {FOVEA_HEAD_RATIO, "head_ratio", "num_heads_q, num_heads_kv", "a whole ratio"};
  return {};
}

}  // namespace fovea::reference
