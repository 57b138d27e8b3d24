// The comparator must go red for every kind of wrongness; each test here is one kind.
#include "cases/compare.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace fovea::cases {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Values = std::vector<double>;

TEST(Compare, EqualPasses) {
  const Values x{1, -2, 3};
  const Comparison r = compare(x, x, {0});
  EXPECT_TRUE(r.passed);
  EXPECT_EQ(r.compared, 3);
  EXPECT_EQ(r.bad, 0);
  EXPECT_EQ(r.first_bad, -1);
}

TEST(Compare, LimitIsInclusive) {
  EXPECT_TRUE(compare(Values{1.5}, Values{1}, {0.5}).passed);
  EXPECT_FALSE(compare(Values{1.5}, Values{1}, {0.4999}).passed);
  EXPECT_FALSE(compare(Values{0.5}, Values{1}, {0.4999}).passed);
}

TEST(Compare, RelativeLimitGrowsWithTheExpectedValue) {
  const Limit limit{.absolute = 0.25, .relative = 0.5};
  EXPECT_TRUE(compare(Values{-3.25}, Values{-2}, limit).passed);
  EXPECT_FALSE(compare(Values{-3.26}, Values{-2}, limit).passed);
  EXPECT_FALSE(compare(Values{kNaN}, Values{-2}, limit).passed);
}

TEST(Compare, OneWrongElementIsFoundAndNamed) {
  Values expected(1000, 0.25);
  Values actual = expected;
  actual[617] += 0.01;
  const Comparison r = compare(actual, expected, {0.001});
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.bad, 1);
  EXPECT_EQ(r.first_bad, 617);
  EXPECT_DOUBLE_EQ(r.first_actual, 0.26);
  EXPECT_DOUBLE_EQ(r.first_expected, 0.25);
  EXPECT_EQ(r.max_error_at, 617);
}

TEST(Compare, RightNormWrongOrderFails) { EXPECT_FALSE(compare(Values{1, 2, 3, 4}, Values{1, 3, 2, 4}, {0.5}).passed); }

TEST(Compare, NaNNeverPassesByAccident) {
  EXPECT_FALSE(compare(Values{kNaN}, Values{1}, {1e300}).passed);
  EXPECT_FALSE(compare(Values{1}, Values{kNaN}, {1e300}).passed);
  EXPECT_FALSE(compare(Values{kNaN}, Values{kInf}, {kInf}).passed);
  EXPECT_FALSE(compare(Values{kNaN}, Values{1}, {kInf}).passed);
  EXPECT_TRUE(compare(Values{kNaN}, Values{kNaN}, {0}).passed);
}

TEST(Compare, NaNLimitPassesNothing) { EXPECT_FALSE(compare(Values{1}, Values{1}, {kNaN}).passed); }

TEST(Compare, InfinitiesKeepTheirSign) {
  EXPECT_TRUE(compare(Values{kInf, -kInf}, Values{kInf, -kInf}, {0}).passed);
  EXPECT_FALSE(compare(Values{kInf}, Values{-kInf}, {kInf}).passed);
  EXPECT_FALSE(compare(Values{kInf}, Values{1}, {kInf}).passed);
  EXPECT_FALSE(compare(Values{1e30}, Values{-kInf}, {kInf}).passed);
}

TEST(Compare, ZerosOfBothSignsAreEqual) { EXPECT_TRUE(compare(Values{-0.0}, Values{0.0}, {0}).passed); }

TEST(Compare, WrongKindIsReportedBeforeWrongNumber) {
  const Comparison r = compare(Values{9, 1, kNaN, kNaN}, Values{1, 1, 1, 1}, {0.1});
  EXPECT_EQ(r.bad, 3);
  EXPECT_EQ(r.first_bad, 2);
}

TEST(Compare, SizesThatDifferFail) {
  EXPECT_FALSE(compare(Values{1, 2}, Values{1}, {1}).passed);
  EXPECT_FALSE(compare(Values{}, Values{1}, {1}).passed);
  EXPECT_TRUE(compare(Values{}, Values{}, {1}).passed);
}

TEST(Limits, FollowTheContract) {
  EXPECT_DOUBLE_EQ(lse_limit(FOVEA_F32).at(0), 1e-5);
  EXPECT_DOUBLE_EQ(lse_limit(FOVEA_BF16).at(0), 1e-3);
  EXPECT_DOUBLE_EQ(lse_limit(FOVEA_F16).at(0), 1e-3);
  EXPECT_DOUBLE_EQ(lse_limit(FOVEA_F32).at(-256), 1e-5 + 0x1p-12);
  EXPECT_DOUBLE_EQ(out_limit(0.25, 0, FOVEA_F32), 0.5);
  EXPECT_DOUBLE_EQ(out_limit(0, 1, FOVEA_BF16), 0x1p-8);
  EXPECT_DOUBLE_EQ(out_limit(0, 1, FOVEA_F16), 0x1p-11);
  EXPECT_DOUBLE_EQ(out_limit(0, 1, FOVEA_F32), 0x1p-21);
}

TEST(Limits, WorstErrorIgnoresWhatIsNotFinite) {
  EXPECT_DOUBLE_EQ(worst_error(Values{1, kNaN, kInf}, Values{1.5, 1, 1}), 0.5);
  EXPECT_DOUBLE_EQ(largest(Values{-3, kInf, kNaN, 2}), 3);
}

TEST(Describe, NamesPlaceAndBothValues) {
  const Comparison r = compare(Values{1, 7}, Values{1, 2}, {0.5});
  const std::string text = describe(r, "(b=0, i=1)", {0.5});
  EXPECT_NE(text.find("1 of 2 bad"), std::string::npos) << text;
  EXPECT_NE(text.find("(b=0, i=1)"), std::string::npos) << text;
  EXPECT_NE(text.find("got 7, expected 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace fovea::cases
