// The order of keys inside a K or V tile: key j of each 32 lies in row key_slot(j). An accumulator then holds eight
// neighbouring keys of a row per lane and 32 keys, so that mask and bias rows are read in whole vectors, straight into
// the lanes that need them. P takes the same order as V, so no product is changed.
#pragma once

#include "layout/fragment_map.h"

namespace fovea {

// Exchanges bits 1, 2 with bits 3, 4. Its own inverse.
constexpr u32 key_slot(u32 key) { return (key & ~30U) | ((key & 6U) << 2U) | ((key & 24U) >> 2U); }

// The first key, in every 32, of those that a lane holds.
constexpr i32 lane_first_key(u32 lane) { return 8 * static_cast<i32>(lane & 3U); }

// The key, counted from the lane's first, that element `element` (0 or 1) of a row of n8 tile `tile` holds.
constexpr i32 fragment_key(i32 tile, i32 element) { return 32 * (tile / 4) + 2 * (tile % 4) + element; }

namespace layout_detail {
inline constexpr Linear kKeySlot{.in_bits = 5, .out_bits = 5, .basis = {1, 8, 16, 2, 4}};
constexpr bool key_order_holds() {
  for (u32 i = 0; i < 32; ++i) {
    if (key_slot(i) != kKeySlot(i) || key_slot(key_slot(i)) != i) return false;
  }
  for (u32 lane = 0; lane < 4; ++lane) {
    for (u32 tile = 0; tile < 4; ++tile) {
      for (u32 e = 0; e < 2; ++e) {
        const u32 slot = 8 * tile + kMmaC32.col(kMmaC32.index(0, e, lane));
        const i32 key = lane_first_key(lane) + fragment_key(static_cast<i32>(tile), static_cast<i32>(e));
        if (key_slot(slot) != static_cast<u32>(key)) return false;
      }
    }
  }
  return true;
}
}  // namespace layout_detail
static_assert(compose(layout_detail::kKeySlot, layout_detail::kKeySlot) == identity(5));
static_assert(layout_detail::key_order_holds());

}  // namespace fovea
