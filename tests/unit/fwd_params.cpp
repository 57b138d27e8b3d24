// What kernels get of a call beside its tensors: parts of the scale, and the order of tiles that its views ask for.
#include "plan/fwd_params.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fovea::testing {
namespace {

Plan plan_with(FwdSpec spec, float scale) {
  Plan plan;
  plan.choice.spec = spec;
  plan.problem.batch = 3, plan.problem.num_heads_q = plan.problem.num_heads_kv = 2;
  plan.problem.softmax_scale = scale;
  return plan;
}

FwdSpec biased(Element element) {
  FwdSpec spec;
  spec.element = spec.bias = element;
  spec.head_dim_qk = spec.head_dim_v = 64;
  spec.score = ScoreForm::biased, spec.bias_tiles = true;
  return spec;
}

TEST(ScaleParts, MakeTheScaleAgain) {
  for (const Element element : {Element::bf16, Element::fp16}) {
    for (const float scale : {0.125F, 0.1F, -0.3F, 1.0F, 7.5F, -1e9F, 1e-9F, 1e-30F, 1e-40F}) {
      const FwdParams params = make_fwd_params(plan_with(biased(element), scale), {}, nullptr);
      EXPECT_EQ(params.query_scale * params.scale, scale);
      EXPECT_GT(params.scale, 0.0F);
      EXPECT_FLOAT_EQ(params.bias_scale * params.scale, 1.0F);
      EXPECT_NEAR(params.scale_log2, params.scale * 1.44269504, 1e-6 * static_cast<double>(params.scale));
      int exponent = 0;
      EXPECT_EQ(std::frexp(std::abs(params.query_scale), &exponent), 0.5F) << "a power of two";
      EXPECT_LE(std::abs(params.query_scale), 1.0F) << "queries stay in their range";
      // Queries of fp16 lose bits below 2^-14, unless the scale is too small for them to matter.
      const bool whole = element == Element::fp16 && std::abs(scale) > 1e-19F;
      EXPECT_TRUE(!whole || std::abs(params.query_scale) == 1.0F) << scale;
      const float largest = element == Element::fp16 ? 65504.0F : std::abs(scale) < 1e-19F ? 1e9F : 3.38e38F;
      EXPECT_TRUE(std::isfinite(largest * params.bias_scale)) << scale;
    }
    const FwdParams none = make_fwd_params(plan_with(biased(element), 0.0F), {}, nullptr);
    EXPECT_EQ(none.query_scale, 0.0F);
    EXPECT_EQ(none.bias_scale, 1.0F);
  }
}

TEST(ScaleParts, AreForProductsThatBeginWithTheBias) {
  FwdSpec behind = biased(Element::bf16);
  behind.head_dim_qk = behind.head_dim_v = 128;
  const FwdParams params = make_fwd_params(plan_with(behind, 0.3F), {}, nullptr);
  EXPECT_EQ(params.scale, 0.3F);
  EXPECT_EQ(params.query_scale, 1.0F);
  EXPECT_EQ(params.bias_scale, 1.0F);
}

TEST(BatchesFirst, WhereTheyShareAPlaneOfEachHead) {
  static const char byte = 0;
  static const std::int32_t rows = 0;
  const ScoreView planes{.data = &byte, .stride_h = 64, .stride_q = 8, .stride_k = 1};
  ScoreView own = planes, one = planes;
  own.stride_b = 128;
  one.stride_h = 0;
  const auto first = [](Family family, const ScoreView& mask, const ScoreView& bias, bool packed = false) {
    FwdSpec spec;
    spec.family = family;
    ForwardOperands operands;
    operands.mask = mask, operands.bias = bias;
    if (packed) operands.cu_seqlens_q.data = &rows;
    return make_fwd_params(plan_with(spec, 1.0F), operands, nullptr).batches_first;
  };
  for (const Family family : {Family::mma, Family::wgmma}) {
    EXPECT_EQ(first(family, {}, {}), 0);
    EXPECT_EQ(first(family, planes, {}), 1);
    EXPECT_EQ(first(family, planes, one), 1);
    EXPECT_EQ(first(family, planes, own), 0) << "a bias decides";
    EXPECT_EQ(first(family, own, planes), 1);
    EXPECT_EQ(first(family, own, {}), 0);
    EXPECT_EQ(first(family, one, {}), 0);
    EXPECT_EQ(first(family, planes, {}, true), 0) << "batch entries of packed sequences are found by their rows";
  }
  EXPECT_EQ(first(Family::wgmma, {}, planes), 1);
  EXPECT_EQ(first(Family::mma, {}, planes), 0);
}

}  // namespace
}  // namespace fovea::testing
