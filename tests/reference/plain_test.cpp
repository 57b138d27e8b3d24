// The plain same-precision evaluation: what it rounds, and that in fp32 it is the reference up to fp32 rounding.
#include "reference/plain.h"

#include "support.h"

namespace fovea::reference_test {
namespace {

constexpr std::uint16_t kOne = 0x3f80;  // 1.0 in bf16

struct PlainResult {
  Tensor<float> out, lse;
};

PlainResult run_plain(fovea_forward_args a) {
  PlainResult r{Tensor<float>({a.q.shape[0], a.q.shape[1], a.q.shape[2], a.v.shape[3]}, NAN),
                Tensor<float>({a.q.shape[0], a.q.shape[2], a.q.shape[1]}, NAN)};
  a.out = r.out.view();
  a.lse = r.lse.view();
  EXPECT_EQ(FOVEA_OK, fovea_plain_forward(&a, nullptr));
  return r;
}

fovea_forward_args bf16_arguments(Tensor<std::uint16_t>& q, Tensor<std::uint16_t>& k, Tensor<std::uint16_t>& v) {
  fovea_forward_args a{};
  a.q = q.view();
  a.k = k.view();
  a.v = v.view();
  return a;
}

TEST(Plain, RoundsWeightsToTheInputDtype) {
  // Three equal scores: P = bf16(1/3) = 171 * 2^-9 = 0.333984375, out = 3 P = 1.001953125 (out is f32).
  Tensor<std::uint16_t> q({1, 1, 1, 1}, kOne), k({1, 3, 1, 1}, kOne), v({1, 3, 1, 1}, kOne);
  EXPECT_EQ(1.001953125F, run_plain(bf16_arguments(q, k, v)).out.values[0]);
}

TEST(Plain, KeepsScoresInFp32) {
  // q . k = 16 * 16 + 1 = 257 needs nine bits; bf16 would keep eight.
  Tensor<std::uint16_t> q({1, 1, 1, 2}, {0x4180, kOne}), k({1, 1, 1, 2}, {0x4180, kOne}), v({1, 1, 1, 1}, kOne);
  fovea_forward_args a = bf16_arguments(q, k, v);
  a.flags = FOVEA_FLAG_SOFTMAX_SCALE;
  a.softmax_scale = 1.0F;
  EXPECT_EQ(257.0F, run_plain(a).lse.values[0]);
}

TEST(Plain, SumsInOneChainOfFp32) {
  // 2^24 + 1 ties to 2^24, each time again: eight partial sums would have kept some of the ones.
  std::vector<std::uint16_t> row(17, kOne);
  row[0] = 0x4580;  // 4096, squared 2^24
  Tensor<std::uint16_t> q({1, 1, 1, 17}, row), k({1, 1, 1, 17}, row), v({1, 1, 1, 1}, kOne);
  fovea_forward_args a = bf16_arguments(q, k, v);
  a.flags = FOVEA_FLAG_SOFTMAX_SCALE;
  a.softmax_scale = 1.0F;
  EXPECT_EQ(16777216.0F, run_plain(a).lse.values[0]);
}

TEST(Plain, Fp32AgreesWithTheReference) {
  Reals q64 = random({2, 6, 4, 8}, 1), k64 = random({2, 9, 2, 8}, 2), v64 = random({2, 9, 2, 5}, 3);
  const auto narrow = [](Reals& wide) {
    Tensor<float> t(wide.shape, 0.0F);
    for (std::size_t i = 0; i < t.values.size(); ++i)
      wide.values[i] = static_cast<double>(t.values[i] = static_cast<float>(wide.values[i]));
    return t;
  };
  Tensor<float> q = narrow(q64), k = narrow(k64), v = narrow(v64);
  Reals sink = random({4}, 4), bias = random({1, 2, 6, 9}, 5);
  fovea_forward_args a = arguments(q64, k64, v64);
  a.flags = FOVEA_FLAG_CAUSAL | FOVEA_FLAG_WINDOW_LEFT;
  a.window_left = 4;
  a.softcap = 1.5F;
  a.sink = sink.view();
  a.bias = bias.view();
  const Result expected = run(a);
  a.q = q.view();
  a.k = k.view();
  a.v = v.view();
  const PlainResult got = run_plain(a);
  expect_near(expected.out.values, {got.out.values.begin(), got.out.values.end()}, 2e-6);
  expect_near(expected.lse.values, {got.lse.values.begin(), got.lse.values.end()}, 2e-6);
  EXPECT_NE(expected.out.values[0], static_cast<double>(got.out.values[0]));  // it is no fp64
}

TEST(Plain, EmptyRowsAndRowFilter) {
  Tensor<std::uint16_t> q({1, 4, 1, 1}, kOne), k({1, 2, 1, 1}, kOne), v({1, 2, 1, 1}, kOne);
  fovea_forward_args a = bf16_arguments(q, k, v);
  a.flags = FOVEA_FLAG_CAUSAL;  // rows 0 and 1 see nothing
  Tensor<float> out({1, 4, 1, 1}, NAN), lse({1, 1, 4}, NAN);
  a.out = out.view();
  a.lse = lse.view();
  ASSERT_EQ(FOVEA_OK, fovea_plain_forward_rows(&a, 2, 1, nullptr));
  expect_near({kNan, 0, kNan, 1}, {out.values.begin(), out.values.end()}, 0);
  EXPECT_EQ(-INFINITY, lse.values[1]);
  EXPECT_NEAR(1 + std::log(2.0), static_cast<double>(lse.values[3]), 1e-6);
}

}  // namespace
}  // namespace fovea::reference_test
