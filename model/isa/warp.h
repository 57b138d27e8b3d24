// Warp-level exchange over all 32 lanes (PTX ISA, "shfl.sync", "vote.sync", "redux.sync" SM80; "elect.sync" SM90).
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE u32 shfl_bfly(u32 v, u32 lane_mask) { return model::this_thread().shfl(model::Shfl::bfly, v, lane_mask); }
FOVEA_INLINE u32 shfl_idx(u32 v, u32 lane) { return model::this_thread().shfl(model::Shfl::idx, v, lane); }
FOVEA_INLINE u32 shfl_up(u32 v, u32 delta) { return model::this_thread().shfl(model::Shfl::up, v, delta); }
FOVEA_INLINE u32 shfl_down(u32 v, u32 delta) { return model::this_thread().shfl(model::Shfl::down, v, delta); }
FOVEA_INLINE f32 shfl_bfly(f32 v, u32 lane_mask) { return f32_from_bits(shfl_bfly(f32_bits(v), lane_mask)); }
FOVEA_INLINE f32 shfl_idx(f32 v, u32 lane) { return f32_from_bits(shfl_idx(f32_bits(v), lane)); }
FOVEA_INLINE f32 shfl_up(f32 v, u32 delta) { return f32_from_bits(shfl_up(f32_bits(v), delta)); }
FOVEA_INLINE f32 shfl_down(f32 v, u32 delta) { return f32_from_bits(shfl_down(f32_bits(v), delta)); }

FOVEA_INLINE bool vote_any(bool p) { return model::this_thread().vote(model::Vote::any, p) != 0; }
FOVEA_INLINE bool vote_all(bool p) { return model::this_thread().vote(model::Vote::all, p) != 0; }
FOVEA_INLINE u32 vote_ballot(bool p) { return model::this_thread().vote(model::Vote::ballot, p); }

FOVEA_INLINE u32 redux_add(u32 v) { return model::this_thread().redux(model::Redux::add, v); }
FOVEA_INLINE u32 redux_min(u32 v) { return model::this_thread().redux(model::Redux::min_u32, v); }
FOVEA_INLINE u32 redux_max(u32 v) { return model::this_thread().redux(model::Redux::max_u32, v); }
FOVEA_INLINE i32 redux_min(i32 v) {
  return static_cast<i32>(model::this_thread().redux(model::Redux::min_i32, static_cast<u32>(v)));
}
FOVEA_INLINE i32 redux_max(i32 v) {
  return static_cast<i32>(model::this_thread().redux(model::Redux::max_i32, static_cast<u32>(v)));
}
FOVEA_INLINE u32 redux_and(u32 v) { return model::this_thread().redux(model::Redux::and_b32, v); }
FOVEA_INLINE u32 redux_or(u32 v) { return model::this_thread().redux(model::Redux::or_b32, v); }
FOVEA_INLINE u32 redux_xor(u32 v) { return model::this_thread().redux(model::Redux::xor_b32, v); }

FOVEA_INLINE bool elect_sync() { return model::this_thread().elect_sync(); }

}  // namespace fovea::isa
