// Properties of visibility: causal and windows are masks, a mask is a bias of -inf, and what is invisible has no
// influence whatever it holds.
#include <cmath>
#include <limits>

#include "property_support.h"

namespace fovea::property {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kJunkNaN = std::numeric_limits<double>::quiet_NaN();

void draw_offsets(Case& c) {
  if (*rc::gen::arbitrary<bool>()) c.q_offset = *rc::gen::inRange<std::int64_t>(-30, 150);
  if (*rc::gen::arbitrary<bool>()) c.kv_offset = *rc::gen::inRange<std::int64_t>(-30, 150);
}

RC_GTEST_FIXTURE_PROP(Property, CausalAndWindowsAreMasks, ()) {
  Case c = draw_case();
  draw_visibility(c);
  draw_offsets(c);
  const Instance by_rule(c);
  Case m = c;
  m.causal = false;
  m.window_left = m.window_right = std::nullopt;
  m.mask = cases::Heads::one;
  Instance by_mask(m);
  for (std::int64_t i = 0; i < c.seqlen_q; ++i) {
    for (std::int64_t j = 0; j < c.seqlen_kv; ++j) by_mask.set_mask(0, 0, i, j, in_reach(by_rule, 0, i, j));
  }
  const Answer expected(context(), by_mask.args());
  const Answer actual(context(), by_rule.args());
  expect_close({by_rule}, actual, places(by_rule), expected, places(by_mask));
}

RC_GTEST_FIXTURE_PROP(Property, MaskIsBiasOfMinusInfinity, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.mask = *rc::gen::element(cases::Heads::one, cases::Heads::kv, cases::Heads::q);
  c.mask_density = *rc::gen::element(0.0F, 0.03F, 0.5F, 0.9F);
  const Instance by_mask(c);
  Case n = c;
  n.mask = cases::Heads::none;
  n.bias = c.mask;
  Instance by_bias(n);
  const fovea_tensor& mask = by_mask.args().mask;
  for (std::int64_t h = 0; h < mask.shape[1]; ++h) {
    for (std::int64_t i = 0; i < mask.shape[2]; ++i) {
      for (std::int64_t j = 0; j < mask.shape[3]; ++j) {
        const std::int64_t at = h * mask.strides[1] + i * mask.strides[2] + j;
        by_bias.set_bias(0, h, i, j, static_cast<std::byte*>(mask.data)[at] != std::byte{0} ? 0.0 : -kInf);
      }
    }
  }
  const Answer expected(context(), by_bias.args());
  const Answer actual(context(), by_mask.args());
  expect_close({by_mask}, actual, places(by_mask), expected, places(by_bias));
}

// A random key of every sequence and head is overwritten. Rows that do not see it must not change by a bit.
RC_GTEST_FIXTURE_PROP(Property, InvisibleKeysHaveNoInfluence, ()) {
  Case c = draw_case();
  draw_visibility(c);
  draw_offsets(c);
  c.seqused_kv = *rc::gen::arbitrary<bool>();
  c.num_splits = *rc::gen::inRange<std::int32_t>(0, 5);
  c.mask = cases::Heads::q;
  c.mask_density = *rc::gen::element(0.1F, 0.6F);
  const auto junk = *rc::gen::element(kJunkNaN, kInf, -kInf, 1e30);
  const auto key = *rc::gen::inRange<std::int64_t>(0, c.seqlen_kv);
  Instance zeros(c);
  Instance junked(c);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.num_heads_kv; ++h) {
      for (std::int64_t d = 0; d < c.head_dim_qk; ++d) zeros.set_k(b, key, h, d, 0), junked.set_k(b, key, h, d, junk);
      for (std::int64_t d = 0; d < c.head_dim_v; ++d) zeros.set_v(b, key, h, d, 0), junked.set_v(b, key, h, d, junk);
    }
  }
  const fovea_tensor& mask = zeros.args().mask;
  const auto blind = [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t at = h * mask.strides[1] + i * (mask.shape[2] == 1 ? 0 : mask.strides[2]) + key;
    return !in_reach(zeros, b, i, key) || static_cast<std::byte*>(mask.data)[at] == std::byte{0};
  };
  const Answer expected(context(), zeros.args());
  const Answer actual(context(), junked.args());
  expect_same_bits({zeros, blind}, actual, places(junked), expected, places(zeros));
}

// Every bias element of an invisible pair is overwritten, and nothing changes by a bit.
RC_GTEST_FIXTURE_PROP(Property, InvisibleBiasHasNoInfluence, ()) {
  Case c = draw_case();
  draw_visibility(c);
  draw_offsets(c);
  c.batch = 1;
  c.num_splits = *rc::gen::inRange<std::int32_t>(0, 5);
  c.mask = cases::Heads::q;
  c.bias = cases::Heads::q;
  c.bias_dtype = *rc::gen::element(FOVEA_F32, FOVEA_BF16, FOVEA_F16);
  const auto junk = *rc::gen::element(kJunkNaN, kInf, 1e30);
  Instance zeros(c);
  Instance junked(c);
  const fovea_tensor& mask = zeros.args().mask;
  for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
    for (std::int64_t i = 0; i < c.seqlen_q; ++i) {
      for (std::int64_t j = 0; j < c.seqlen_kv; ++j) {
        const std::int64_t at = h * mask.strides[1] + i * mask.strides[2] + j;
        const bool hidden = static_cast<std::byte*>(mask.data)[at] == std::byte{0};
        if (!hidden && in_reach(zeros, 0, i, j)) continue;
        zeros.set_bias(0, h, i, j, 0);
        junked.set_bias(0, h, i, j, junk);
      }
    }
  }
  const Answer expected(context(), zeros.args());
  const Answer actual(context(), junked.args());
  expect_same_bits({zeros}, actual, places(junked), expected, places(zeros));
}

}  // namespace
}  // namespace fovea::property
