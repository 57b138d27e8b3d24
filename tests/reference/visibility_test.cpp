// Section 2 as pictures: one line per query, 'x' where a key has weight, '.' where it has none.
#include <algorithm>
#include <string>

#include "support.h"

namespace fovea::reference_test {
namespace {

using Picture = std::vector<std::string>;

// seqlen_q queries over seqlen_kv keys with equal scores; V row j is one-hot at j, so out[j] is key j's weight.
struct Grid {
  Grid(std::int64_t seqlen_q, std::int64_t seqlen_kv, std::int64_t heads_q = 1, std::int64_t heads_kv = 1,
       std::int64_t batch = 1)
      : q({batch, seqlen_q, heads_q, 1}, 0.0),
        k({batch, seqlen_kv, heads_kv, 1}, 0.0),
        v({batch, seqlen_kv, heads_kv, seqlen_kv}, 0.0),
        a(arguments(q, k, v)) {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t j = 0; j < seqlen_kv; ++j)
        for (std::int64_t h = 0; h < heads_kv; ++h) v.at({b, j, h, j}) = 1;
  }

  Picture picture(std::int64_t b = 0, std::int64_t h = 0) const {
    Result r = run(a);
    Picture rows;
    for (std::int64_t i = 0; i < r.out.shape[1]; ++i) {
      std::string row;
      for (std::int64_t j = 0; j < r.out.shape[3]; ++j) row += r.out.at({b, i, h, j}) > 0 ? 'x' : '.';
      expect_equal_weights(r, b, i, h, std::count(row.begin(), row.end(), 'x'));
      rows.push_back(row);
    }
    return rows;
  }

  static void expect_equal_weights(Result& r, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t count) {
    for (std::int64_t j = 0; j < r.out.shape[3]; ++j) {
      const double weight = r.out.at({b, i, h, j});
      EXPECT_TRUE(weight == 0 || std::abs(weight - 1 / static_cast<double>(count)) < 1e-15) << weight;
    }
    if (count == 0) {
      EXPECT_EQ(-kInfinity, r.lse.at({b, h, i}));
    } else {
      EXPECT_NEAR(std::log(static_cast<double>(count)), r.lse.at({b, h, i}), 1e-15);
    }
  }

  void window_left(std::int64_t n) { a.window_left = n, a.flags |= FOVEA_FLAG_WINDOW_LEFT; }
  void window_right(std::int64_t n) { a.window_right = n, a.flags |= FOVEA_FLAG_WINDOW_RIGHT; }
  void q_offset(std::int64_t n) { a.q_offset = n, a.flags |= FOVEA_FLAG_Q_OFFSET; }
  void kv_offset(std::int64_t n) { a.kv_offset = n, a.flags |= FOVEA_FLAG_KV_OFFSET; }

  Reals q, k, v;
  fovea_forward_args a;
};

TEST(Visibility, EverythingByDefault) { EXPECT_EQ((Picture{"xxx", "xxx"}), Grid(2, 3).picture()); }

TEST(Visibility, CausalIsBottomRightAligned) {
  Grid square(3, 3), wide(2, 4), tall(4, 2);
  for (Grid* g : {&square, &wide, &tall}) g->a.flags |= FOVEA_FLAG_CAUSAL;
  EXPECT_EQ((Picture{"x..", "xx.", "xxx"}), square.picture());
  EXPECT_EQ((Picture{"xxx.", "xxxx"}), wide.picture());
  EXPECT_EQ((Picture{"..", "..", "x.", "xx"}), tall.picture());
}

TEST(Visibility, WindowsAreInclusive) {
  Grid both(4, 4), left(4, 4), right(4, 4), diagonal(3, 3), wide(2, 5), tall(4, 2);
  both.window_left(1), both.window_right(1);
  EXPECT_EQ((Picture{"xx..", "xxx.", ".xxx", "..xx"}), both.picture());
  left.window_left(1);
  EXPECT_EQ((Picture{"xxxx", "xxxx", ".xxx", "..xx"}), left.picture());
  right.window_right(1);
  EXPECT_EQ((Picture{"xx..", "xxx.", "xxxx", "xxxx"}), right.picture());
  diagonal.window_left(0), diagonal.window_right(0);
  EXPECT_EQ((Picture{"x..", ".x.", "..x"}), diagonal.picture());
  wide.window_left(1), wide.window_right(0);
  EXPECT_EQ((Picture{"..xx.", "...xx"}), wide.picture());
  tall.window_left(0), tall.window_right(1);
  EXPECT_EQ((Picture{"..", "x.", "xx", ".x"}), tall.picture());
}

TEST(Visibility, CausalNarrowsTheRightWindow) {
  Grid g(3, 3);
  g.a.flags |= FOVEA_FLAG_CAUSAL;
  g.window_left(1), g.window_right(2);
  EXPECT_EQ((Picture{"x..", "xx.", ".xx"}), g.picture());
}

TEST(Visibility, HugeWindowsAreNoOverflow) {
  Grid g(2, 3);
  g.window_left(std::numeric_limits<std::int64_t>::max()), g.window_right(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((Picture{"xxx", "xxx"}), g.picture());
}

TEST(Visibility, OffsetsReplaceTheAlignment) {
  Grid g(2, 4);
  g.a.flags |= FOVEA_FLAG_CAUSAL;
  g.q_offset(0);
  EXPECT_EQ((Picture{"x...", "xx.."}), g.picture());  // top-left aligned
  g.q_offset(2);
  EXPECT_EQ((Picture{"xxx.", "xxxx"}), g.picture());
  g.kv_offset(3);
  EXPECT_EQ((Picture{"....", "x..."}), g.picture());  // query positions 2, 3 over key positions 3..6
  g.a.flags &= ~static_cast<std::uint32_t>(FOVEA_FLAG_Q_OFFSET);
  g.kv_offset(-1);
  EXPECT_EQ((Picture{"xx..", "xxx."}), g.picture());  // query positions 0, 1 over key positions -1..2
  g.q_offset(std::int64_t{1} << 40);
  g.kv_offset((std::int64_t{1} << 40) - 1);
  g.window_left(0);
  EXPECT_EQ((Picture{".x..", "..x."}), g.picture());
}

TEST(Visibility, UsedLengthsSetTheAlignment) {
  Ints used_q({1}, 2), used_kv({1}, 3);
  Grid g(3, 5);
  g.a.flags |= FOVEA_FLAG_CAUSAL;
  g.a.seqused_q = used_q.view();
  g.a.seqused_kv = used_kv.view();
  EXPECT_EQ((Picture{"xx...", "xxx..", "....."}), g.picture());
}

TEST(Visibility, MaskBroadcasts) {
  Grid g(2, 2, 4, 2, 2);
  Bools everywhere({1, 1, 1, 2}, {0, 1}), per_batch({2, 1, 1, 2}, {0, 1, 1, 0}), per_row({1, 1, 2, 2}, {0, 1, 1, 0});
  Bools per_kv_head({1, 2, 1, 2}, {0, 1, 1, 0}), per_q_head({1, 4, 1, 2}, {0, 1, 1, 0, 0, 0, 255, 1});
  g.a.mask = everywhere.view();
  EXPECT_EQ((Picture{".x", ".x"}), g.picture(1, 3));
  g.a.mask = per_batch.view();
  EXPECT_EQ((Picture{".x", ".x"}), g.picture(0, 3));
  EXPECT_EQ((Picture{"x.", "x."}), g.picture(1, 3));
  g.a.mask = per_row.view();
  EXPECT_EQ((Picture{".x", "x."}), g.picture(1, 2));
  g.a.mask = per_kv_head.view();
  EXPECT_EQ((Picture{".x", ".x"}), g.picture(0, 1));
  EXPECT_EQ((Picture{"x.", "x."}), g.picture(0, 2));
  g.a.mask = per_q_head.view();
  EXPECT_EQ((Picture{"x.", "x."}), g.picture(0, 1));
  EXPECT_EQ((Picture{"..", ".."}), g.picture(0, 2));
  EXPECT_EQ((Picture{"xx", "xx"}), g.picture(0, 3));
}

TEST(Visibility, BiasOfMinusInfinityHides) {
  Grid g(2, 3);
  Reals bias({1, 1, 2, 3}, {0, -kInfinity, 0, -kInfinity, -kInfinity, -kInfinity});
  g.a.bias = bias.view();
  EXPECT_EQ((Picture{"x.x", "..."}), g.picture());
}

TEST(Visibility, EveryConditionMustHold) {
  Grid g(3, 3);
  Bools mask({1, 1, 3, 3}, {1, 1, 1, 0, 1, 1, 1, 1, 0});
  Reals bias({1, 1, 1, 3}, {-kInfinity, 0, 0});
  g.a.flags |= FOVEA_FLAG_CAUSAL;
  g.a.mask = mask.view();
  g.a.bias = bias.view();
  EXPECT_EQ((Picture{"...", ".x.", ".x."}), g.picture());
}

}  // namespace
}  // namespace fovea::reference_test
