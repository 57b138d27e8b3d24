// Joining the clocks of threads that meet: afterwards each has observed what all had done.
#pragma once

#include "model/runtime/machine.h"

namespace fovea::model {

// Adds what the lanes of `mask` have done to `clock` and starts a new epoch in each: a release.
inline void release_lanes(Warp& warp, u32 mask, std::vector<Epoch>& clock) {
  const ClockBase* seen = nullptr;
  for (u32 i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    OwnClock& own = warp.lanes[i].clock;
    own.publish(clock, own.base != seen);
    seen = own.base;
    ++own.epoch;
  }
}

// Gives the lanes of `mask` the base; each takes a reference of its own.
inline void acquire_lanes(Warp& warp, u32 mask, ClockBase* base) {
  for (u32 i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    ++base->references;
    warp.lanes[i].set_base(base);
  }
}

inline void join_lanes(Warp& warp, u32 mask) {
  ClockPool& pool = *warp.cta->cluster->clocks;
  ClockBase* base = pool.acquire();
  std::fill(base->value.begin(), base->value.end(), 0);
  release_lanes(warp, mask, base->value);
  acquire_lanes(warp, mask, base);
  pool.release(base);
}

}  // namespace fovea::model
