// Calls small enough to work out by hand; the arithmetic stands beside each.
#include "support.h"

namespace fovea::reference_test {
namespace {

constexpr double kTight = 1e-15;
const double kLn2 = std::log(2.0);
const double kLn3 = std::log(3.0);

// One query, two keys, head dim 1, scale 1: q = ln 2, k = (0, 1), v = (3, 6).
struct TwoKeys : testing::Test {
  Reals q{{1, 1, 1, 1}, kLn2};
  Reals k{{1, 2, 1, 1}, {0, 1}};
  Reals v{{1, 2, 1, 1}, {3, 6}};
  fovea_forward_args a = arguments(q, k, v);
};

TEST_F(TwoKeys, Softmax) {
  // s = (0, ln 2), exp s = (1, 2), l = 3: out = 1/3 * 3 + 2/3 * 6 = 5, lse = ln 3.
  const Result r = run(a);
  expect_near({5}, r.out.values, kTight);
  expect_near({kLn3}, r.lse.values, kTight);
}

TEST_F(TwoKeys, Scale) {
  // s = -1 * (0, ln 2), exp s = (1, 1/2), l = 3/2: out = 2/3 * 3 + 1/3 * 6 = 4, lse = ln 1.5.
  a.softmax_scale = -1.0F;
  const Result r = run(a);
  expect_near({4}, r.out.values, kTight);
  expect_near({std::log(1.5)}, r.lse.values, kTight);
}

TEST_F(TwoKeys, ZeroScale) {
  // s = (0, 0): out = 4.5, lse = ln 2. A scale of 0 that is given is not "no scale".
  a.softmax_scale = 0.0F;
  const Result r = run(a);
  expect_near({4.5}, r.out.values, kTight);
  expect_near({kLn2}, r.lse.values, kTight);
}

TEST_F(TwoKeys, Bias) {
  // s = (0 + ln 3, ln 2 + 0), exp s = (3, 2), l = 5: out = 3/5 * 3 + 2/5 * 6 = 21/5, lse = ln 5.
  Reals bias({1, 1, 1, 2}, {kLn3, 0});
  a.bias = bias.view();
  const Result r = run(a);
  expect_near({4.2}, r.out.values, kTight);
  expect_near({std::log(5.0)}, r.lse.values, kTight);
}

TEST_F(TwoKeys, Mask) {
  // Only key 0 is visible: out = 3, lse = its score = 0.
  Bools mask({1, 1, 1, 2}, {1, 0});
  a.mask = mask.view();
  const Result r = run(a);
  EXPECT_EQ(3.0, r.out.values[0]);
  EXPECT_EQ(0.0, r.lse.values[0]);
}

TEST_F(TwoKeys, Softcap) {
  // tanh(ln(2) / 2) = (2 - 1) / (2 + 1) = 1/3, so c = 2 turns ln 2 into 2/3 and leaves 0:
  // l = 1 + e^(2/3), out = (3 + 6 e^(2/3)) / l.
  a.softcap = 2.0F;
  const double w = std::exp(2.0 / 3.0);
  const Result r = run(a);
  expect_near({(3 + 6 * w) / (1 + w)}, r.out.values, kTight);
  expect_near({std::log(1 + w)}, r.lse.values, kTight);
}

TEST_F(TwoKeys, BiasComesAfterSoftcap) {
  // s = (0 + 2/3, 2/3 + 0): equal. Capping the sum instead would not give equal scores.
  a.softcap = 2.0F;
  Reals bias({1, 1, 1, 2}, {2.0 / 3.0, 0});
  a.bias = bias.view();
  const Result r = run(a);
  expect_near({4.5}, r.out.values, kTight);
  expect_near({2.0 / 3.0 + kLn2}, r.lse.values, kTight);
}

TEST_F(TwoKeys, Sink) {
  // lse = ln 3 = sink: factor 1 / (1 + e^0) = 1/2, out = 5/2; lse is reported without the sink.
  Reals sink({1}, kLn3);
  a.sink = sink.view();
  const Result r = run(a);
  expect_near({2.5}, r.out.values, kTight);
  expect_near({kLn3}, r.lse.values, kTight);
}

TEST_F(TwoKeys, SinkIsOneMoreKeyWithoutValue) {
  // sink = 0 weighs e^0 = 1 beside 1 + 2: out = (1 * 3 + 2 * 6 + 1 * 0) / 4 = 15/4.
  Reals sink({1}, 0.0);
  a.sink = sink.view();
  expect_near({3.75}, run(a).out.values, kTight);
}

TEST_F(TwoKeys, InfiniteSinks) {
  Reals sink({1}, kInfinity);
  a.sink = sink.view();
  EXPECT_EQ(0.0, run(a).out.values[0]);
  expect_near({kLn3}, run(a).lse.values, kTight);
  sink.values[0] = -kInfinity;
  expect_near({5}, run(a).out.values, kTight);
}

TEST(HandComputed, DefaultScaleIsOneOverRootOfHeadDimQk) {
  // Dqk = 4: q . k = 2 ln 2 for key 1, 0 for key 0; scale 1/2: s = (0, ln 2). Dv = 2.
  Reals q({1, 1, 1, 4}, {kLn2, kLn2, 0, 0});
  Reals k({1, 2, 1, 4}, {0, 0, 1, 1, 1, 1, 5, 5});
  Reals v({1, 2, 1, 2}, {3, 30, 6, 60});
  fovea_forward_args a = arguments(q, k, v);
  a.flags = 0;
  a.softmax_scale = 77.0F;  // not given: must not count
  const Result r = run(a);
  expect_near({5, 50}, r.out.values, 1e-14);
  expect_near({kLn3}, r.lse.values, kTight);
}

TEST(HandComputed, QueryHeadReadsItsKvHead) {
  // Hq = 4, Hkv = 2: heads 0, 1 read kv head 0 and heads 2, 3 read kv head 1. One key: out is its value.
  Reals q({1, 1, 4, 1}, 1.0);
  Reals k({1, 1, 2, 1}, {10, 20});
  Reals v({1, 1, 2, 1}, {1, 2});
  const Result r = run(arguments(q, k, v));
  EXPECT_EQ((std::vector<double>{1, 1, 2, 2}), r.out.values);
  EXPECT_EQ((std::vector<double>{10, 10, 20, 20}), r.lse.values);
}

TEST(HandComputed, SinkBelongsToTheQueryHead) {
  // One key with score 0, so lse = 0: factors 1/2 for sink 0 and 1/4 for sink ln 3.
  Reals q({1, 1, 2, 1}, 0.0);
  Reals k({1, 1, 1, 1}, 0.0);
  Reals v({1, 1, 1, 1}, 8.0);
  Reals sink({2}, {0, kLn3});
  fovea_forward_args a = arguments(q, k, v);
  a.sink = sink.view();
  expect_near({4, 2}, run(a).out.values, 1e-14);
}

}  // namespace
}  // namespace fovea::reference_test
