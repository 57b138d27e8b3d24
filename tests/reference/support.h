// Small tensors for hand-made calls, and the fp64 reference run on them with NaN-filled results.
// Nothing here knows what attention is.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/reference.h"

namespace fovea::reference_test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A dense row-major tensor that owns its values. std::uint16_t holds bf16 bits.
template <class T>
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<T> values;

  Tensor(std::vector<std::int64_t> dims, T fill) : shape(std::move(dims)) {
    values.assign(static_cast<std::size_t>(size()), fill);
  }
  Tensor(std::vector<std::int64_t> dims, std::vector<T> all) : shape(std::move(dims)), values(std::move(all)) {
    EXPECT_EQ(size(), static_cast<std::int64_t>(values.size()));
  }

  std::int64_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }

  T& at(std::initializer_list<std::int64_t> index) {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    for (const std::int64_t i : index) offset = offset * shape[axis++] + i;
    return values[static_cast<std::size_t>(offset)];
  }

  fovea_tensor view() {
    fovea_tensor t{};
    t.data = values.data();
    t.dtype = dtype();
    t.rank = static_cast<std::int32_t>(shape.size());
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
      t.shape[axis] = shape[axis];
      t.strides[axis] = stride;
    }
    return t;
  }

  static constexpr fovea_dtype dtype() {
    if constexpr (std::is_same_v<T, double>) return FOVEA_F64;
    if constexpr (std::is_same_v<T, float>) return FOVEA_F32;
    if constexpr (std::is_same_v<T, std::uint16_t>) return FOVEA_BF16;
    if constexpr (std::is_same_v<T, std::uint8_t>) return FOVEA_BOOL;
    if constexpr (std::is_same_v<T, std::int32_t>) return FOVEA_I32;
  }
};

using Reals = Tensor<double>;
using Bools = Tensor<std::uint8_t>;
using Ints = Tensor<std::int32_t>;

inline Reals random(std::vector<std::int64_t> shape, unsigned seed) {
  Reals t(std::move(shape), 0.0);
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  for (double& x : t.values) x = normal(engine);
  return t;
}

// Arguments with softmax_scale = 1, so that scores can be read off the operands.
inline fovea_forward_args arguments(Reals& q, Reals& k, Reals& v) {
  fovea_forward_args a{};
  a.struct_size = sizeof(a);
  a.q = q.view();
  a.k = k.view();
  a.v = v.view();
  a.flags = FOVEA_FLAG_SOFTMAX_SCALE;
  a.softmax_scale = 1.0F;
  return a;
}

struct Result {
  Reals out, lse;
};

// Runs the reference into fresh NaN-filled out and lse.
inline Result run(fovea_forward_args a) {
  const bool packed = a.cu_seqlens_q.rank != 0;
  const std::int64_t rows = packed ? a.q.shape[0] : a.q.shape[1];
  const std::int64_t heads = a.q.shape[a.q.rank - 2];
  const std::int64_t head_dim_v = a.v.shape[a.v.rank - 1];
  Result r{packed ? Reals({rows, heads, head_dim_v}, kNan) : Reals({a.q.shape[0], rows, heads, head_dim_v}, kNan),
           packed ? Reals({heads, rows}, kNan) : Reals({a.q.shape[0], heads, rows}, kNan)};
  a.out = r.out.view();
  a.lse = r.lse.view();
  EXPECT_EQ(FOVEA_OK, fovea_reference_forward(&a, nullptr));
  return r;
}

// Element by element; NaN equals NaN, infinities equal themselves.
inline void expect_near(const std::vector<double>& expected, const std::vector<double>& got, double tolerance) {
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i] << ", not NaN";
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(expected[i], got[i]) << "element " << i;
    } else {
      EXPECT_NEAR(expected[i], got[i], tolerance) << "element " << i;
    }
  }
}

inline void expect_near(const Result& expected, const Result& got, double tolerance) {
  expect_near(expected.out.values, got.out.values, tolerance);
  expect_near(expected.lse.values, got.lse.values, tolerance);
}

}  // namespace fovea::reference_test
