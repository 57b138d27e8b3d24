// Scores whose maximum is far from 0, as additive masks of -1e9 or -1e30 and large scales make them: products with
// log2(e) round by more than 1 there, and go beyond the range of fp32. Each expectation is a closed form.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

constexpr std::int64_t kFarRows = 140, kFarKeys = 264, kFarHeads = 2;
constexpr std::array kFar = {-1e9, -3e9, -1e10, -1e30, -3.38e38, 1e10, 3.38e38};

bool is_far_row(std::int64_t row) { return row == 3 || row == 77; }

// Means of v[first..end) by head and dim.
std::vector<double> means_of(const Tensor& v, std::int64_t first, std::int64_t end) {
  std::vector<double> means(static_cast<std::size_t>(kFarHeads * v.size(3)));
  v.slice(1, first, end - first).visit([&](const Index& i) {
    means[static_cast<std::size_t>(i[2] * v.size(3) + i[3])] += v.at({0, first + i[1], i[2], i[3]});
  });
  for (double& mean : means) mean /= static_cast<double>(end - first);
  return means;
}

void expect_row(const Attention& call, std::int64_t row, const std::vector<double>& means) {
  call.out().slice(1, row, 1).visit([&](const Index& i) {
    const double mean = means[static_cast<std::size_t>(i[2] * call.out().size(3) + i[3])];
    ASSERT_NEAR(call.out().at({0, row, i[2], i[3]}), mean, 0.004)
        << "row " << row << ", head " << i[2] << ", dim " << i[3];
  });
}

struct FarInputs {
  Tensor q, k, v;
  FarInputs(fovea_dtype dtype, std::int64_t head_dim)
      : q(Tensor(dtype, {1, kFarRows, kFarHeads, head_dim}).normal(1)),
        k(Tensor(dtype, {1, kFarKeys, kFarHeads, head_dim}).normal(2)),
        v(Tensor(dtype, {1, kFarKeys, kFarHeads, head_dim}).normal(3)) {}
};

template <class F>
void for_each_kind(F&& f) {
  for (const std::int64_t head_dim : {64, 128, 192}) {
    for (const fovea_dtype bias : {FOVEA_BF16, FOVEA_F32}) {
      SCOPED_TRACE(testing::Message() << "head dim " << head_dim << ", bias " << fovea_dtype_name(bias));
      f(FarInputs(FOVEA_BF16, head_dim), bias);
    }
  }
}

// Where all keys of a row have the same bias they weigh alike; other rows do not notice.
TEST(FarScores, BiasesAlikeInARowWeighAlike) {
  for_each_kind([](const FarInputs& in, fovea_dtype bias_dtype) {
    const Tensor near = Tensor(bias_dtype, {1, 1, kFarRows, kFarKeys}).normal(4);
    in.q.fill([&, copy = in.q.packed_copy()](auto b, auto s, auto h, auto d) {
      return is_far_row(s) ? 0.0 : copy.at({b, s, h, d});
    });
    const std::vector<double> means = means_of(in.v, 0, kFarKeys);
    Attention plain(in.q, in.k, in.v);
    plain.bias(near).run();
    for (const double far : kFar) {
      SCOPED_TRACE(far);
      const Tensor bias = near.packed_copy().fill([&](auto, auto, auto i, auto j) {
        return is_far_row(i) ? far : near.at({0, 0, i, j});
      });
      Attention call(in.q, in.k, in.v);
      call.bias(bias).run();
      for (std::int64_t row = 0; row < kFarRows; ++row) {
        if (is_far_row(row)) {
          expect_row(call, row, means);
        } else {
          expect_near(call.out().slice(1, row, 1), plain.out().slice(1, row, 1), 0.0);
        }
      }
    }
  });
}

// An additive mask: keys far below the others count for nothing, wherever they stand.
TEST(FarScores, AdditiveMaskHidesKeys) {
  for_each_kind([](const FarInputs& in, fovea_dtype bias_dtype) {
    in.k.constant(0);  // the others weigh alike
    const std::vector<double> first = means_of(in.v, 0, 60), last = means_of(in.v, kFarKeys - 60, kFarKeys);
    for (const double far : {-1e9, -3e9, -1e10, -1e30, -3.38e38}) {
      SCOPED_TRACE(far);
      const Tensor bias = Tensor(bias_dtype, {1, 1, kFarRows, kFarKeys}).fill([&](auto, auto, auto i, auto j) {
        return (i % 2 == 0 ? j < 60 : j >= kFarKeys - 60) ? 0.0 : far;
      });
      Attention call(in.q, in.k, in.v);
      call.bias(bias).run();
      for (std::int64_t row = 0; row < kFarRows; ++row) expect_row(call, row, row % 2 == 0 ? first : last);
    }
  });
}

// Products alone: equal keys, so that a row's scores are equal and of any size that the scale makes.
TEST(FarScores, LargeScalesOfEqualKeys) {
  for (const std::int64_t head_dim : {64, 128, 192, 256}) {
    for (const fovea_dtype dtype : kHalfDtypes) {
      for (const float scale : {1e4F, 1e8F, 1e12F, 1e34F}) {
        SCOPED_TRACE(testing::Message() << "head dim " << head_dim << ", " << fovea_dtype_name(dtype) << ", " << scale);
        const FarInputs in(dtype, head_dim);
        in.k.fill([&, copy = in.k.packed_copy()](auto b, auto, auto h, auto d) { return copy.at({b, 0, h, d}); });
        const std::vector<double> means = means_of(in.v, 0, kFarKeys);
        Attention call(in.q, in.k, in.v);
        call.scale(scale).run();
        for (std::int64_t row = 0; row < kFarRows; ++row) expect_row(call, row, means);
      }
    }
  }
}

// Contract, section 3: a score of +Inf makes a row of out and its lse NaN.
TEST(FarScores, PlusInfinityMakesTheRowAndItsLseNan) {
  for_each_kind([](const FarInputs& in, fovea_dtype bias_dtype) {
    const Tensor bias = Tensor(bias_dtype, {1, 1, kFarRows, kFarKeys}).normal(4);
    bias.set(std::numeric_limits<double>::infinity(), {0, 0, 5, 100});
    Attention call(in.q, in.k, in.v);
    call.bias(bias).run();
    call.out().visit(
        [&](const Index& i) { ASSERT_EQ(std::isnan(call.out().at(i)), i[1] == 5) << i[1] << ", " << i[3]; });
    call.lse().visit([&](const Index& i) { ASSERT_EQ(std::isnan(call.lse().at(i)), i[2] == 5) << i[2]; });
  });
}

}  // namespace
}  // namespace fovea::bugs
