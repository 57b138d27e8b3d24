// The order in which a GPU kernel of forward takes its tiles: groups of heads, one after the other; in a group the last
// tile of every head first, then the ones before (device/attention/schedule.h).
#pragma once

#include <cstdint>

#include "select/problem.h"

namespace fovea {

struct TileOrder {
  std::int64_t heads_in_flight = 1;  // (batch, head) pairs of a group
  std::int64_t head_groups = 1;      // the last one has all the heads that are left
  bool operator==(const TileOrder&) const = default;
};

struct Grid {
  std::int64_t heads = 0;    // (batch, head) pairs with tiles of their own
  std::int64_t sharing = 1;  // of them that follow one another and read the same K and V
  std::int64_t tiles_m = 0;  // of each
  std::int64_t ctas = 0;     // that run at a time
};

TileOrder tile_order(const Problem& problem, const Grid& grid);

}  // namespace fovea
