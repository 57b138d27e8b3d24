// NaN, infinities and empty rows: an invisible key has no influence at all, a visible one what fp64 gives it.
#include <bit>

#include "support.h"

namespace fovea::reference_test {
namespace {

std::vector<std::uint64_t> bits(const Result& r) {
  std::vector<std::uint64_t> all;
  for (const auto* values : {&r.out.values, &r.lse.values})
    for (const double x : *values) all.push_back(std::bit_cast<std::uint64_t>(x));
  return all;
}

struct Containment : testing::Test {
  Reals q = random({1, 3, 2, 4}, 1);
  Reals k = random({1, 5, 1, 4}, 2);
  Reals v = random({1, 5, 1, 3}, 3);
  fovea_forward_args a = arguments(q, k, v);

  void poison_key(std::int64_t j, double value) {
    for (std::int64_t d = 0; d < 4; ++d) k.at({0, j, 0, d}) = value;
    for (std::int64_t d = 0; d < 3; ++d) v.at({0, j, 0, d}) = value;
  }
};

TEST_F(Containment, MaskedKeyIsBitIdenticalToZeros) {
  Bools mask({1, 1, 1, 5}, {1, 0, 1, 1, 0});
  Reals bias({1, 1, 1, 5}, 0.5);
  a.mask = mask.view();
  a.bias = bias.view();
  for (const std::int64_t j : {1, 4}) poison_key(j, 0);
  const auto zeros = bits(run(a));
  for (const double poison : {kNan, kInfinity, -kInfinity, 1e300}) {
    for (const std::int64_t j : {1, 4}) poison_key(j, poison);
    bias.values[1] = poison;
    EXPECT_EQ(zeros, bits(run(a))) << poison;
  }
}

TEST_F(Containment, UnusedStorageIsNeverSeen) {
  Ints used({1}, 3);
  a.seqused_kv = used.view();
  const auto before = bits(run(a));
  for (const std::int64_t j : {3, 4}) poison_key(j, kNan);
  EXPECT_EQ(before, bits(run(a)));
}

TEST_F(Containment, CausalFutureIsNeverSeen) {
  a.flags |= FOVEA_FLAG_CAUSAL;  // row 0 sees keys 0..2, row 1 also key 3, row 2 all
  const Result before = run(a);
  poison_key(4, kNan);
  Result r = run(a);
  for (std::size_t x = 0; x < 2 * 2 * 3; ++x) EXPECT_EQ(before.out.values[x], r.out.values[x]);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_TRUE(std::isnan(r.out.at({0, 2, h, d})));
    EXPECT_TRUE(std::isnan(r.lse.at({0, h, 2})));
  }
}

TEST_F(Containment, NanInOneQueryStaysInItsRow) {
  Result expected = run(a);
  q.at({0, 1, 1, 2}) = kNan;
  for (std::int64_t d = 0; d < 3; ++d) expected.out.at({0, 1, 1, d}) = kNan;
  expected.lse.at({0, 1, 1}) = kNan;
  expect_near(expected, run(a), 0);
}

TEST_F(Containment, NanInOneValueStaysInItsColumn) {
  Result expected = run(a);
  v.at({0, 2, 0, 1}) = kNan;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t h = 0; h < 2; ++h) expected.out.at({0, i, h, 1}) = kNan;
  expect_near(expected, run(a), 0);
  v.at({0, 2, 0, 1}) = -kInfinity;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t h = 0; h < 2; ++h) expected.out.at({0, i, h, 1}) = -kInfinity;
  expect_near(expected, run(a), 0);
}

// One query q = 1 over keys that are their own scores, V = (1, 2, 6).
Result scores(std::vector<double> s, std::vector<double> values = {1, 2, 6}) {
  Reals q({1, 1, 1, 1}, 1.0);
  Reals k({1, 3, 1, 1}, std::move(s));
  Reals v({1, 3, 1, 1}, std::move(values));
  return run(arguments(q, k, v));
}

TEST(Scores, MinusInfinityHasNoWeight) {
  expect_near(scores({0, 0, -kInfinity}), {Reals({1}, 1.5), Reals({1}, std::log(2.0))}, 1e-15);
  expect_near(scores({0, 0, -kInfinity}, {1, 2, kNan}), {Reals({1}, 1.5), Reals({1}, std::log(2.0))}, 1e-15);
}

TEST(Scores, AllMinusInfinityIsAnEmptyRow) {
  expect_near(Result{Reals({1}, 0.0), Reals({1}, -kInfinity)}, scores({-kInfinity, -kInfinity, -kInfinity}), 0);
}

TEST(Scores, PlusInfinityAndNanMakeTheRowNan) {
  const Result nan{Reals({1}, kNan), Reals({1}, kNan)};
  expect_near(nan, scores({0, kInfinity, 0}), 0);
  expect_near(nan, scores({0, kNan, 0}), 0);
  expect_near(nan, scores({kNan, kNan, kNan}), 0);
  expect_near(nan, scores({-kInfinity, kNan, -kInfinity}), 0);
}

TEST_F(Containment, EmptyRowsAreZeroWithOrWithoutSink) {
  Bools mask({1, 1, 3, 5}, 1);
  for (std::int64_t j = 0; j < 5; ++j) mask.at({0, 0, 1, j}) = 0;
  for (std::int64_t d = 0; d < 4; ++d) q.at({0, 1, 0, d}) = kNan;
  Reals sink({2}, {-kInfinity, kInfinity});
  a.mask = mask.view();
  for (const bool with_sink : {false, true}) {
    if (with_sink) a.sink = sink.view();
    Result r = run(a);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(0.0, r.out.at({0, 1, h, d}));
      EXPECT_EQ(-kInfinity, r.lse.at({0, h, 1}));
      EXPECT_TRUE(std::isfinite(r.lse.at({0, h, 0})));
    }
  }
}

TEST_F(Containment, NoKeysAtAll) {
  Ints used({1}, 0);
  a.seqused_kv = used.view();
  expect_near(Result{Reals({1, 3, 2, 3}, 0.0), Reals({1, 2, 3}, -kInfinity)}, run(a), 0);
}

TEST_F(Containment, RowsPastSequsedAreEmptyRows) {
  Ints used({1}, 2);
  a.seqused_q = used.view();
  Result expected = run(a);
  for (std::int64_t d = 0; d < 4; ++d) q.at({0, 2, 0, d}) = kNan;
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(0.0, expected.out.at({0, 2, h, d}));
    EXPECT_EQ(-kInfinity, expected.lse.at({0, h, 2}));
    EXPECT_TRUE(std::isfinite(expected.lse.at({0, h, 1})));
  }
  expect_near(expected, run(a), 0);
}

}  // namespace
}  // namespace fovea::reference_test
