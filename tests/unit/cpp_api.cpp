// fovea.hpp: views, argument defaults, statuses and calls.
#include "fovea/fovea.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

namespace fovea::test {
namespace {

using Extents = std::vector<std::int64_t>;

Extents shape(const Tensor& t) { return {t.shape, t.shape + t.rank}; }
Extents strides(const Tensor& t) { return {t.strides, t.strides + t.rank}; }

float at(const Tensor& t, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  int d = 0;
  for (const std::int64_t i : index) offset += i * t.strides[d++];
  return static_cast<const float*>(t.data)[offset];
}

class TensorView : public testing::Test {
 protected:
  TensorView() { std::iota(memory_.begin(), memory_.end(), 0.0F); }
  std::array<float, 24> memory_{};
  Tensor base_{memory_.data(), {2, 3, 4}};
};

TEST_F(TensorView, contiguous) {
  EXPECT_EQ(base_.dtype, FOVEA_F32);
  EXPECT_EQ(shape(base_), (Extents{2, 3, 4}));
  EXPECT_EQ(strides(base_), (Extents{12, 4, 1}));
  EXPECT_EQ(at(base_, {1, 2, 3}), 23.0F);
  EXPECT_FALSE(Tensor().present());
}

TEST_F(TensorView, transpose_and_negative_dims) {
  const Tensor t = base_.transpose(0, -1);
  EXPECT_EQ(shape(t), (Extents{4, 3, 2}));
  EXPECT_EQ(at(t, {3, 2, 1}), at(base_, {1, 2, 3}));
  EXPECT_EQ(t.extent(-1), 2);
  EXPECT_EQ(t.stride(0), 1);
}

TEST_F(TensorView, slice_and_step) {
  const Tensor t = base_.slice(2, 1, 4, 2).slice(1, 1, 2);
  EXPECT_EQ(shape(t), (Extents{2, 1, 2}));
  EXPECT_EQ(at(t, {1, 0, 1}), at(base_, {1, 1, 3}));
  EXPECT_EQ(shape(base_.slice(0, 2, 2)), (Extents{0, 3, 4}));
}

TEST_F(TensorView, flip) {
  const Tensor t = base_.flip(1);
  EXPECT_EQ(shape(t), shape(base_));
  EXPECT_EQ(at(t, {1, 0, 2}), at(base_, {1, 2, 2}));
}

TEST_F(TensorView, unsqueeze_expand_squeeze) {
  const Tensor t = base_.unsqueeze(1).expand(1, 5);
  EXPECT_EQ(shape(t), (Extents{2, 5, 3, 4}));
  EXPECT_EQ(at(t, {1, 4, 2, 3}), 23.0F);
  EXPECT_EQ(t.stride(1), 0);
  const Tensor back = base_.unsqueeze(3).squeeze(3);
  EXPECT_EQ(shape(back), shape(base_));
  EXPECT_EQ(strides(back), strides(base_));
}

TEST_F(TensorView, from_span_checks_the_size) {
  const std::span<const float> memory(memory_);
  ASSERT_TRUE(Tensor::from(memory, {4, 6}).has_value());
  EXPECT_EQ(strides(*Tensor::from(memory, {4, 6})), (Extents{6, 1}));
  EXPECT_FALSE(Tensor::from(memory, {5, 5}).has_value());
  EXPECT_FALSE(Tensor::from(memory, {-1, 5}).has_value());
  EXPECT_FALSE(Tensor::from(memory, {INT64_MAX, 3}).has_value());
  EXPECT_EQ(shape(Tensor::from(memory)), (Extents{24}));
  std::array<std::int32_t, 3> ints{};
  EXPECT_EQ(Tensor::from(std::span(ints)).dtype, FOVEA_I32);
}

TEST(ForwardArgs, flags_follow_the_optionals) {
  EXPECT_EQ(ForwardArgs{}.raw().flags, 0U);
  EXPECT_EQ(ForwardArgs{}.raw().struct_size, sizeof(fovea_forward_args));
  const fovea_forward_args a =
      ForwardArgs{.causal = true, .window_left = 0, .q_offset = -3, .softmax_scale = 0.0F}.raw();
  EXPECT_EQ(a.flags, FOVEA_FLAG_CAUSAL | FOVEA_FLAG_WINDOW_LEFT | FOVEA_FLAG_Q_OFFSET | FOVEA_FLAG_SOFTMAX_SCALE);
  EXPECT_EQ(a.q_offset, -3);
  const fovea_forward_args b = ForwardArgs{.window_right = 5,
                                           .kv_offset = 9,
                                           .softcap = 2.0F,
                                           .num_splits = 4,
                                           .batch_invariant = true,
                                           .forbid_slow = true,
                                           .backend = FOVEA_BACKEND_CPU}
                                   .raw();
  EXPECT_EQ(b.flags,
            FOVEA_FLAG_WINDOW_RIGHT | FOVEA_FLAG_KV_OFFSET | FOVEA_FLAG_BATCH_INVARIANT | FOVEA_FLAG_FORBID_SLOW);
  EXPECT_EQ(b.window_right, 5);
  EXPECT_EQ(b.kv_offset, 9);
  EXPECT_EQ(b.softcap, 2.0F);
  EXPECT_EQ(b.num_splits, 4);
  EXPECT_EQ(b.backend, FOVEA_BACKEND_CPU);
}

// One key: out is its value, lse its score.
class Calls : public testing::Test {
 protected:
  ForwardArgs args() {
    return {.q = Tensor(q_.data(), {1, 2, 1, 2}),
            .k = Tensor(k_.data(), {1, 1, 1, 2}),
            .v = Tensor(v_.data(), {1, 1, 1, 2}),
            .out = Tensor(out_.data(), {1, 2, 1, 2}),
            .lse = Tensor(lse_.data(), {1, 1, 2}),
            .softmax_scale = 1.0F};
  }
  Context context_{1};
  std::array<float, 4> q_{1.0F, 2.0F, 3.0F, 4.0F};
  std::array<float, 2> k_{1.0F, 1.0F}, v_{7.0F, -5.0F};
  std::array<float, 4> out_{NAN, NAN, NAN, NAN};
  std::array<float, 2> lse_{NAN, NAN};
};

TEST_F(Calls, forward) {
  ASSERT_TRUE(context_.status().ok()) << context_.status().message();
  EXPECT_EQ(context_.num_threads(), 1);
  const Status status = context_.forward(args());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(status.message(), "ok");
  for (std::size_t i = 0; i < out_.size(); ++i) EXPECT_EQ(out_[i], v_[i % 2]) << i;
  EXPECT_EQ(lse_[0], 3.0F);
  EXPECT_EQ(lse_[1], 7.0F);
}

TEST_F(Calls, refusal_has_all_texts) {
  ForwardArgs bad = args();
  bad.window_left = -2;
  const Status status = context_.forward(bad);
  EXPECT_EQ(status.code(), FOVEA_WINDOW);
  EXPECT_EQ(status.name(), "window");
  EXPECT_EQ(status.asked(), "window_left=-2");
  EXPECT_NE(status.message().find(status.hint()), std::string::npos);
  EXPECT_TRUE(std::isnan(out_[0]));
  EXPECT_EQ(context_.supports(bad).code(), FOVEA_WINDOW);
  EXPECT_TRUE(context_.supports(args()).ok());
}

TEST_F(Calls, reports) {
  const Report text = context_.explain(args());
  ASSERT_TRUE(text.status.ok());
  EXPECT_EQ(text.text.find("problem"), 0U);
  EXPECT_EQ(context_.explain(args(), FOVEA_JSON).text.front(), '{');
  EXPECT_NE(context_.doctor().text.find("simd"), std::string::npos);
  ForwardArgs bad = args();
  bad.q = Tensor();
  const Report refused = context_.explain(bad);
  EXPECT_EQ(refused.status.code(), FOVEA_NULL_POINTER);
  EXPECT_EQ(refused.text, "");
}

TEST_F(Calls, merge) {
  std::array<float, 2> first{1.0F, 1.0F}, second{3.0F, 5.0F}, result{NAN, NAN};
  std::array<float, 1> equal{0.0F};
  const std::array outs{Tensor(first.data(), {1, 1, 1, 2}), Tensor(second.data(), {1, 1, 1, 2})};
  const std::array lses{Tensor(equal.data(), {1, 1, 1}), Tensor(equal.data(), {1, 1, 1})};
  const MergeArgs merge{.outs = outs, .lses = lses, .out = Tensor(result.data(), {1, 1, 1, 2})};
  const Status status = context_.merge(merge);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FLOAT_EQ(result[0], 2.0F);
  EXPECT_FLOAT_EQ(result[1], 3.0F);
  const Status uneven = context_.merge({.outs = outs, .lses = std::span(lses).first(1), .out = merge.out});
  EXPECT_EQ(uneven.code(), FOVEA_MERGE_COUNT);
  EXPECT_EQ(uneven.asked(), "2 outs, 1 lses");
  EXPECT_EQ(context_.merge({}).code(), FOVEA_MERGE_COUNT);
}

TEST(ContextLife, moves_and_reports_failure) {
  Context first(1);
  Context second(std::move(first));
  EXPECT_TRUE(second.status().ok());
  EXPECT_EQ(first.get(), nullptr);
  EXPECT_EQ(first.forward({}).code(), FOVEA_NULL_POINTER);
  first = std::move(second);
  EXPECT_EQ(first.num_threads(), 1);
  const Context broken(-1);
  EXPECT_EQ(broken.status().code(), FOVEA_CONFIG);
  EXPECT_EQ(broken.doctor().status.code(), FOVEA_NULL_POINTER);
}

}  // namespace
}  // namespace fovea::test
