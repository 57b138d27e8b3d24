// One batch entry as a tile sees it: how many of its rows are queries and keys, and where its diagonal lies.
#pragma once

#include "isa/isa.h"
#include "spec/fwd_params.h"

namespace fovea {

// Query i in [0, q_used) sees key j in [0, kv_used) iff i + left <= j <= i + right.
struct FwdSequence {
  i32 q_used, kv_used;
  i32 left, right;
};

// A used length from memory, brought into [0, storage]; the storage where there is none.
FOVEA_INLINE i32 used_length(const i32* used, i64 index, i32 storage) {
  if (used == nullptr) return storage;
  return max(0, min(static_cast<i32>(isa::ld_global<u32>(used + index)), storage));
}

FOVEA_INLINE FwdSequence fwd_sequence(const FwdParams& p, i32 batch) {
  FwdSequence seq;
  seq.q_used = used_length(p.used_q, batch * p.used_q_stride, p.seqlen_q);
  seq.kv_used = used_length(p.used_kv, batch * p.used_kv_stride, p.seqlen_kv);
  const i32 diagonal = p.bottom_right != 0 ? seq.kv_used - seq.q_used : 0;
  seq.left = p.left + diagonal;
  seq.right = p.right + diagonal;
  return seq;
}

}  // namespace fovea
