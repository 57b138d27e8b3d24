// Inputs whose answer needs no softmax to write down, over many sizes.
#include "support.h"

namespace fovea::reference_test {
namespace {

TEST(ClosedForms, EqualScoresGiveTheMeanAndLnN) {
  for (const std::int64_t n : {1, 2, 3, 7, 64, 129}) {
    Reals q({2, 3, 2, 5}, 1.0);
    Reals k({2, n, 2, 5}, 0.25);  // every score is 5 * 0.25 = 1.25
    Reals v = random({2, n, 2, 4}, 1);
    Result r = run(arguments(q, k, v));
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t i = 0; i < 3; ++i) {
          EXPECT_NEAR(1.25 + std::log(static_cast<double>(n)), r.lse.at({b, h, i}), 1e-14);
          for (std::int64_t d = 0; d < 4; ++d) {
            double sum = 0;
            for (std::int64_t j = 0; j < n; ++j) sum += v.at({b, j, h, d});
            EXPECT_NEAR(sum / static_cast<double>(n), r.out.at({b, i, h, d}), 1e-14);
          }
        }
  }
}

TEST(ClosedForms, OneKeyGivesItsValue) {
  Reals q = random({2, 4, 3, 8}, 2);
  Reals k = random({2, 1, 3, 8}, 3);
  Reals v = random({2, 1, 3, 6}, 4);
  Result r = run(arguments(q, k, v));
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t h = 0; h < 3; ++h) {
        double s = 0;
        for (std::int64_t d = 0; d < 8; ++d) s += q.at({b, i, h, d}) * k.at({b, 0, h, d});
        EXPECT_NEAR(s, r.lse.at({b, h, i}), 1e-14);
        for (std::int64_t d = 0; d < 6; ++d) EXPECT_EQ(v.at({b, 0, h, d}), r.out.at({b, i, h, d}));
      }
}

TEST(ClosedForms, OneHotQueriesPickTheirKey) {
  // q_i = 2000 e_(n-1-i), k_j = e_j: the other weights are exp(-2000) = 0 in fp64, so out_i is v_(n-1-i) exactly.
  constexpr std::int64_t n = 9;
  Reals q({1, n, 1, n}, 0.0);
  Reals k({1, n, 1, n}, 0.0);
  Reals v = random({1, n, 1, 3}, 5);
  for (std::int64_t i = 0; i < n; ++i) {
    q.at({0, i, 0, n - 1 - i}) = 2000;
    k.at({0, i, 0, i}) = 1;
  }
  Result r = run(arguments(q, k, v));
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(2000, r.lse.at({0, 0, i}));
    for (std::int64_t d = 0; d < 3; ++d) EXPECT_EQ(v.at({0, n - 1 - i, 0, d}), r.out.at({0, i, 0, d}));
  }
}

TEST(ClosedForms, HugeFiniteScoresAreOrdinaryScores) {
  // Every score -1e30: the mean, and an lse that is no infinity. One score 0 beside them takes all the weight.
  for (const double score : {-1e30, 1e30}) {
    Reals q({1, 1, 1, 1}, 1.0);
    Reals k({1, 3, 1, 1}, score);
    Reals v({1, 3, 1, 1}, {1, 2, 6});
    EXPECT_NEAR(3, run(arguments(q, k, v)).out.values[0], 1e-15);
    EXPECT_EQ(score, run(arguments(q, k, v)).lse.values[0]);
    k.values[1] = score + 1e31;
    EXPECT_EQ(2, run(arguments(q, k, v)).out.values[0]);
  }
}

TEST(ClosedForms, LowestFiniteBiasIsABiasNotAMask) {
  // A row whose every bias is the lowest float: scores differ by less than its last place, so the mean of V.
  const double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  Reals q({1, 2, 1, 1}, 1.0);
  Reals k({1, 2, 1, 1}, {1, 2});
  Reals v({1, 2, 1, 1}, {4, 8});
  Reals bias({1, 1, 2, 2}, {lowest, lowest, lowest, 0});
  fovea_forward_args a = arguments(q, k, v);
  a.bias = bias.view();
  const Result r = run(a);
  expect_near({6, 8}, r.out.values, 1e-15);
  expect_near({lowest, 2}, r.lse.values, 0);
}

TEST(ClosedForms, ShiftingEveryScoreShiftsLseAlone) {
  Reals q = random({1, 3, 2, 4}, 6);
  Reals k = random({1, 5, 2, 4}, 7);
  Reals v = random({1, 5, 2, 4}, 8);
  Reals bias({1, 1, 1, 5}, 3.5);
  fovea_forward_args a = arguments(q, k, v);
  Result expected = run(a);
  for (double& lse : expected.lse.values) lse += 3.5;
  a.bias = bias.view();
  expect_near(expected, run(a), 1e-14);
}

}  // namespace
}  // namespace fovea::reference_test
