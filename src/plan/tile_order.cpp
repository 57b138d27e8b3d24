// What level 2 sends to several SMs at about the same time costs it little more than once, and a tile's neighbours read
// the same K and V: so a group has few heads, and several CTAs on each of them. Whether the K and V of a group fit
// level 2 matters less (docs/performance.md, "The order of tiles").
#include "plan/tile_order.h"

#include <algorithm>

#include "device/base/types.h"

namespace fovea {
namespace {

constexpr std::int64_t kCtasPerHead = 8;  // on one K and V

// Where tiles differ in length, a group begins with its longest ones, and behind the last group nothing is left for the
// CTAs that are done early. So it has heads enough for every CTA to get three times the keys of a longest tile: of n
// heads with tiles of 1, 2, ..., tiles_m blocks, n * tiles_m * (tiles_m + 1) / 2 >= 3 * tiles_m * ctas.
std::int64_t last_group(const Grid& grid) {
  // But no more than leave about three CTAs to each.
  const std::int64_t most = std::max<std::int64_t>(3 * grid.ctas / 8 * grid.sharing, 1);
  return std::min({ceil_div(6 * grid.ctas, grid.tiles_m + 1), most, grid.heads});
}

}  // namespace

TileOrder tile_order(const Problem& problem, const Grid& grid) {
  const bool uneven = uneven_keys(problem);
  const std::int64_t wave = ceil_div(grid.ctas, std::max<std::int64_t>(grid.tiles_m, 1));
  const std::int64_t wanted =
      uneven ? std::max<std::int64_t>(grid.ctas / kCtasPerHead, 1) : ceil_div(wave, grid.sharing);
  TileOrder order;
  order.heads_in_flight = std::clamp<std::int64_t>(wanted * grid.sharing, 1, std::max<std::int64_t>(grid.heads, 1));
  const std::int64_t last = uneven ? last_group(grid) : 1;
  order.head_groups = std::max<std::int64_t>(grid.heads - last, 0) / order.heads_in_flight + 1;
  return order;
}

}  // namespace fovea
