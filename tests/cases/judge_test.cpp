// judge() on outputs that the reference itself wrote passes; every single corruption of them goes red.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "cases/generate.h"
#include "cases/materialize.h"
#include "cases/run.h"
#include "reference/numbers.h"
#include "reference/reference.h"

namespace fovea::cases {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Case small() {
  Case c;
  c.seed = 5;
  c.batch = 2;
  c.seqlen_q = 9;
  c.seqlen_kv = 14;
  c.num_heads_q = 4;
  c.num_heads_kv = 2;
  c.head_dim_qk = c.head_dim_v = 8;
  return c;
}

Instance answered(const Case& c) {
  Instance instance(c);
  EXPECT_EQ(fovea_reference_forward(&instance.args(), nullptr), FOVEA_OK);
  return instance;
}

float* out_at(Instance& instance, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) {
  const fovea_tensor& t = instance.args().out;
  return static_cast<float*>(t.data) + b * t.strides[0] + i * t.strides[1] + h * t.strides[2] + d * t.strides[3];
}

float* lse_at(Instance& instance, std::int64_t b, std::int64_t h, std::int64_t i) {
  const fovea_tensor& t = instance.args().lse;
  return static_cast<float*>(t.data) + b * t.strides[0] + h * t.strides[1] + i * t.strides[2];
}

void expect_red(Instance& instance, const std::string& text) {
  const CaseResult r = judge(instance);
  EXPECT_FALSE(r.passed);
  EXPECT_NE(r.message.find(text), std::string::npos) << r.message;
}

TEST(Judge, TheReferencePassesEveryFeature) {
  const std::vector<Case> cases = feature_cases();
  for (std::size_t i = 0; i < cases.size(); i += 41) {
    const Instance instance = answered(cases[i]);
    const CaseResult r = judge(instance);
    EXPECT_TRUE(r.passed) << repeat_command(cases[i]) << "\n" << r.message;
  }
}

TEST(Judge, EveryElementCounts) {
  Instance instance = answered(small());
  const Case& c = instance.of();
  ASSERT_TRUE(judge(instance).passed);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.seqlen_q; i += 4) {
      for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
        float* element = out_at(instance, b, i, h, (b + i + h) % c.head_dim_v);
        const float right = *element;
        *element = right + 1e-4F;
        EXPECT_FALSE(judge(instance).passed) << b << " " << i << " " << h;
        *element = right;
      }
    }
  }
  EXPECT_TRUE(judge(instance).passed);
}

TEST(Judge, NamesTheCoordinates) {
  Instance instance = answered(small());
  *out_at(instance, 1, 8, 3, 7) += 1;
  expect_red(instance, "out: 1 of 576 bad, first at (b=1, h=3, i=8, d=7)");
}

TEST(Judge, NaNInOutOrLse) {
  Instance instance = answered(small());
  const float right = *out_at(instance, 0, 3, 1, 2);
  *out_at(instance, 0, 3, 1, 2) = kNaN;
  expect_red(instance, "(b=0, h=1, i=3, d=2)");
  *out_at(instance, 0, 3, 1, 2) = right;
  *lse_at(instance, 1, 2, 3) = kNaN;
  expect_red(instance, "lse: 1 of 72 bad, first at (b=1, h=2, i=3)");
}

TEST(Judge, SwappedRows) {
  Instance instance = answered(small());
  std::swap_ranges(out_at(instance, 0, 2, 0, 0), out_at(instance, 0, 2, 0, 0) + 8, out_at(instance, 0, 3, 0, 0));
  expect_red(instance, "out: 16 of 576 bad");
}

TEST(Judge, SwappedHeads) {
  Instance instance = answered(small());
  std::swap_ranges(out_at(instance, 0, 2, 0, 0), out_at(instance, 0, 2, 0, 0) + 8, out_at(instance, 0, 2, 1, 0));
  expect_red(instance, "out: 16 of 576 bad");
}

TEST(Judge, RightNormWrongOrder) {
  Instance instance = answered(small());
  std::swap(*out_at(instance, 1, 4, 2, 0), *out_at(instance, 1, 4, 2, 5));
  expect_red(instance, "out: 2 of 576 bad, first at (b=1, h=2, i=4, d=0)");
}

TEST(Judge, LseOffByLittle) {
  Instance instance = answered(small());
  *lse_at(instance, 0, 0, 0) += 3e-5F;
  expect_red(instance, "lse: 1 of 72 bad");
}

TEST(Judge, EmptyRowWithFiniteLse) {
  Case c = small();
  c.causal = true;
  c.kv_offset = 3;
  Instance instance = answered(c);
  ASSERT_TRUE(judge(instance).passed);
  ASSERT_EQ(*lse_at(instance, 0, 0, 0), -std::numeric_limits<float>::infinity());
  *lse_at(instance, 0, 0, 0) = -1e30F;
  expect_red(instance, "lse: 1 of 72 bad");
}

TEST(Judge, NegativeZeroIsZero) {
  Case c = small();
  c.seqlen_kv = 0;
  Instance instance = answered(c);
  *out_at(instance, 0, 0, 0, 0) = -0.0F;
  EXPECT_TRUE(judge(instance).passed) << judge(instance).message;
}

TEST(Judge, ElementNeverWritten) {
  Case c = small();
  Instance instance(c);
  expect_red(instance, "never written");
}

TEST(Judge, CanaryBeforeAndBehind) {
  Instance instance = answered(small());
  float* first = out_at(instance, 0, 0, 0, 0);
  float* last = out_at(instance, 1, 8, 3, 7);
  for (float* outside : {first - 1, last + 1}) {
    const float saved = *outside;
    *outside = 0;
    expect_red(instance, "lies outside the output and was written");
    std::memcpy(outside, &saved, sizeof(saved));
  }
}

TEST(Judge, GapBetweenRows) {
  Case c = small();
  c.strides = Strides::padded;
  Instance instance = answered(c);
  ASSERT_TRUE(judge(instance).passed);
  *(out_at(instance, 0, 0, 0, 7) + 1) = 0;
  expect_red(instance, "lies outside the output and was written");
}

TEST(Judge, RowOutsideEverySequence) {
  Case c = small();
  c.q_layout = Layout::varlen;
  c.rows_before = 2;
  c.rows_after = 2;
  for (const bool before : {true, false}) {
    Instance instance = answered(c);
    ASSERT_TRUE(judge(instance).passed);
    const fovea_tensor& t = instance.args().out;
    const std::int64_t row = before ? 1 : t.shape[0] - 1;
    static_cast<float*>(t.data)[row * t.strides[0]] = 0;
    expect_red(instance, "out element");
  }
  Instance instance = answered(c);
  const fovea_tensor& t = instance.args().lse;
  static_cast<float*>(t.data)[t.strides[0] - 1] = 0;
  expect_red(instance, "lse element");
}

TEST(Judge, ModifiedInput) {
  Instance instance = answered(small());
  static_cast<float*>(instance.args().k.data)[5] += 1;
  expect_red(instance, "an input was modified");
}

TEST(Judge, LongCasesAreJudgedOnASubsetThatStillSeesEveryHead) {
  Case c = small();
  c.seqlen_q = 1500;
  Instance instance = answered(c);
  const CaseResult r = judge(instance);
  EXPECT_TRUE(r.passed) << r.message;
  EXPECT_GE(r.rows_checked, 64 * c.batch * c.num_heads_q);
  EXPECT_LT(r.rows_checked, 1500 * c.batch * c.num_heads_q);
  *out_at(instance, 1, 0, 3, 0) += 1;
  expect_red(instance, "(b=1, h=3, i=0, d=0)");
}

}  // namespace
}  // namespace fovea::cases
