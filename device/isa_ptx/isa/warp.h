// Exchange and votes within a warp: full mask, all 32 lanes together. Volatile, so that none is moved into a branch.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: shfl.sync, sm_80. A lane that reads past an end keeps its own value.
FOVEA_INLINE u32 shfl_bfly(u32 v, u32 lane_mask) {
  u32 d;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(d) : "r"(v), "r"(lane_mask));
  return d;
}
FOVEA_INLINE u32 shfl_idx(u32 v, u32 lane) {
  u32 d;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(d) : "r"(v), "r"(lane));
  return d;
}
FOVEA_INLINE u32 shfl_up(u32 v, u32 delta) {
  u32 d;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(d) : "r"(v), "r"(delta));
  return d;
}
FOVEA_INLINE u32 shfl_down(u32 v, u32 delta) {
  u32 d;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(d) : "r"(v), "r"(delta));
  return d;
}
FOVEA_INLINE f32 shfl_bfly(f32 v, u32 lane_mask) { return f32_from_bits(shfl_bfly(f32_bits(v), lane_mask)); }
FOVEA_INLINE f32 shfl_idx(f32 v, u32 lane) { return f32_from_bits(shfl_idx(f32_bits(v), lane)); }
FOVEA_INLINE f32 shfl_up(f32 v, u32 delta) { return f32_from_bits(shfl_up(f32_bits(v), delta)); }
FOVEA_INLINE f32 shfl_down(f32 v, u32 delta) { return f32_from_bits(shfl_down(f32_bits(v), delta)); }

// Parallel Synchronization and Communication Instructions: vote.sync, sm_80.
FOVEA_INLINE bool vote_any(bool predicate) {
  u32 d;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
               : "=r"(d)
               : "r"(static_cast<u32>(predicate)));
  return d != 0;
}
FOVEA_INLINE bool vote_all(bool predicate) {
  u32 d;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
               : "=r"(d)
               : "r"(static_cast<u32>(predicate)));
  return d != 0;
}
FOVEA_INLINE u32 vote_ballot(bool predicate) {
  u32 d;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(d)
               : "r"(static_cast<u32>(predicate)));
  return d;
}

// Parallel Synchronization and Communication Instructions: redux.sync, sm_80.
FOVEA_INLINE u32 redux_add(u32 v) {
  u32 d;
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE u32 redux_min(u32 v) {
  u32 d;
  asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE u32 redux_max(u32 v) {
  u32 d;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE i32 redux_min(i32 v) {
  i32 d;
  asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE i32 redux_max(i32 v) {
  i32 d;
  asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE u32 redux_and(u32 v) {
  u32 d;
  asm volatile("redux.sync.and.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE u32 redux_or(u32 v) {
  u32 d;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}
FOVEA_INLINE u32 redux_xor(u32 v) {
  u32 d;
  asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(v));
  return d;
}

// Parallel Synchronization and Communication Instructions: elect.sync, sm_90. True in exactly one lane, always the
// same.
FOVEA_INLINE bool elect_sync() {
  u32 d;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(d));
  return d != 0;
}

}  // namespace fovea::isa
