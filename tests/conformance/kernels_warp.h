// warp.h and special.h: one warp per CTA.
#pragma once

#include "slice.h"

namespace fovea::conformance {

FOVEA_ENTRY(32, 1) warp(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  const u32 v = word(x, 0);
  const u32 lane = word(x, 1);
  // CTA 0: true in all lanes; then in about a half, a quarter and so on.
  const bool predicate = word(x, 2) <= 0xffffffffU >> (isa::ctaid_x() % 8);
  Sink sink{thread_slice(out, 20)};
  sink.put(isa::shfl_bfly(v, lane));
  sink.put(isa::shfl_idx(v, lane));
  sink.put(isa::shfl_up(v, lane % 40));
  sink.put(isa::shfl_down(v, lane % 40));
  sink.put(isa::shfl_bfly(f32_from_bits(v), 1U));
  sink.put(isa::shfl_idx(f32_from_bits(v), 31U));
  sink.put(isa::shfl_up(f32_from_bits(v), 2U));
  sink.put(isa::shfl_down(f32_from_bits(v), 8U));
  sink.put(isa::vote_any(predicate));
  sink.put(isa::vote_all(predicate));
  sink.put(isa::vote_ballot(predicate));
  sink.put(isa::redux_add(v));
  sink.put(isa::redux_min(v));
  sink.put(isa::redux_max(v));
  sink.put(static_cast<u32>(isa::redux_min(static_cast<i32>(v))));
  sink.put(static_cast<u32>(isa::redux_max(static_cast<i32>(v))));
  sink.put(isa::redux_and(v | 0x10000U));
  sink.put(isa::redux_or(v & 0x00ff00ffU));
  sink.put(isa::redux_xor(v));
  sink.put(isa::elect_sync());
}

FOVEA_ENTRY(64, 1) special(const u32*, u32* out) {
  Sink sink{thread_slice(out, 11)};
  sink.put(isa::tid_x());
  sink.put(isa::ntid_x());
  sink.put(isa::ctaid_x());
  sink.put(isa::ctaid_y());
  sink.put(isa::ctaid_z());
  sink.put(isa::nctaid_y());
  sink.put(isa::nctaid_z());
  sink.put(isa::laneid());
  sink.put(isa::cluster_ctarank());
  sink.put(isa::cluster_nctarank());
  sink.put(isa::smem_base() % 1024U);
}

}  // namespace fovea::conformance
