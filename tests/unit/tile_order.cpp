// The order of tiles, judged as the GPU takes it: CTAs that are free take the next tile.
#include "plan/tile_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <vector>

namespace fovea {
namespace {

Problem ordered_problem(bool causal) {
  Problem problem;
  problem.causal = causal;
  return problem;
}

// Blocks of keys of every tile in the order of device/attention/schedule.h; causal, as many keys as queries.
std::vector<std::int64_t> causal_weights(const TileOrder& order, const Grid& grid) {
  std::vector<std::int64_t> weights;
  for (std::int64_t group = 0; group < order.head_groups; ++group) {
    const bool last = group == order.head_groups - 1;
    const std::int64_t heads = last ? grid.heads - group * order.heads_in_flight : order.heads_in_flight;
    for (std::int64_t tile = grid.tiles_m; tile > 0; --tile)
      weights.insert(weights.end(), static_cast<std::size_t>(heads), tile);
  }
  return weights;
}

// Time until the last CTA is done, over the time if none ever waited.
double imbalance(const std::vector<std::int64_t>& weights, std::int64_t ctas) {
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free_at;
  for (std::int64_t i = 0; i < ctas; ++i) free_at.push(0);
  std::int64_t end = 0;
  for (const std::int64_t weight : weights) {
    const std::int64_t done = free_at.top() + weight;
    free_at.pop();
    free_at.push(done);
    end = std::max(end, done);
  }
  const auto all = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  return static_cast<double>(end * ctas) / all;
}

TEST(TileOrder, GroupsHoldEveryHeadOnce) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t heads : {0, 1, 5, 16, 17, 33, 66, 67, 1000}) {
      for (const std::int64_t sharing : {1, 7, 8}) {
        for (const std::int64_t tiles : {0, 1, 8, 128, 1000}) {
          for (const std::int64_t ctas : {1, 132, 264}) {
            const TileOrder order = tile_order(ordered_problem(causal),
                                               {.heads = heads, .sharing = sharing, .tiles_m = tiles, .ctas = ctas});
            ASSERT_GE(order.heads_in_flight, 1);
            ASSERT_GE(order.head_groups, 1);
            const std::int64_t last = heads - (order.head_groups - 1) * order.heads_in_flight;
            ASSERT_GE(last, std::min<std::int64_t>(heads, 1)) << heads << " " << tiles << " " << ctas;
          }
        }
      }
    }
  }
}

// Before the last group was a group of its own size, up to 17% of the time went by with idle CTAs here.
TEST(TileOrder, CausalTilesLeaveFewCtasIdle) {
  constexpr std::int64_t kCtas = 132;
  for (const std::int64_t tiles : {8, 16, 22, 32, 64, 128}) {
    for (std::int64_t heads = 1; heads <= 300; ++heads) {
      const Grid grid{.heads = heads, .tiles_m = tiles, .ctas = kCtas};
      // Less work than this cannot be shared out evenly in any order.
      if (heads * (tiles + 1) < 8 * kCtas) continue;
      const TileOrder order = tile_order(ordered_problem(true), grid);
      EXPECT_LT(imbalance(causal_weights(order, grid), kCtas), 1.05) << heads << " heads of " << tiles << " tiles";
    }
  }
}

TEST(TileOrder, SeveralCtasWorkOnTheSameKeys) {
  const Problem causal = ordered_problem(true);
  EXPECT_EQ(tile_order(causal, {.heads = 256, .tiles_m = 8, .ctas = 132}), (TileOrder{16, 13}));
  EXPECT_EQ(tile_order(causal, {.heads = 16, .tiles_m = 128, .ctas = 132}), (TileOrder{16, 1}));
  EXPECT_EQ(tile_order(causal, {.heads = 256, .sharing = 8, .tiles_m = 8, .ctas = 132}), (TileOrder{128, 2}));
  const Problem full = ordered_problem(false);
  EXPECT_EQ(tile_order(full, {.heads = 256, .tiles_m = 8, .ctas = 132}), (TileOrder{17, 16})) << "one wave";
  EXPECT_EQ(tile_order(full, {.heads = 256, .sharing = 8, .tiles_m = 8, .ctas = 132}), (TileOrder{24, 11}));
}

}  // namespace
}  // namespace fovea
