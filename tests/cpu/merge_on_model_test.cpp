// The merge kernel on the functional model against the fp64 reference, through fovea_merge(): parts of every dtype and
// stride, in place, with empty rows, NaNs and a sink. Also the same call in the first version of its struct.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/bug_support.h"
#include "device/spec/merge_params.h"
#include "reference/reference.h"

namespace fovea::testing {
namespace {

using bugs::Index;
using bugs::Part;
using bugs::Shape;
using bugs::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct MergeShape {
  const char* name;
  int count;
  std::int64_t batch, rows, heads, head_dim;
  fovea_dtype dtype;
  std::int64_t gap, stride_d;  // elements behind each row, between columns
  bool packed, sink, lse, in_place;
};

std::ostream& operator<<(std::ostream& out, const MergeShape& shape) { return out << shape.name; }

// Parts and result of a merge as its arguments; owns what these point to.
struct MergeCall {
  MergeCall(const std::vector<Part>& parts, const Part& result, const Tensor& sink) : kept(parts) {
    for (const Part& part : parts) outs.push_back(part.out.view()), lses.push_back(part.lse.view());
    args.struct_size = sizeof(args);
    args.outs = outs.data();
    args.lses = lses.data();
    args.count = static_cast<std::int32_t>(parts.size());
    args.out = result.out.view(), args.lse = result.lse.view(), args.sink = sink.view();
  }
  MergeCall(const MergeCall&) = delete;
  MergeCall& operator=(const MergeCall&) = delete;

  std::vector<Part> kept;
  std::vector<fovea_tensor> outs, lses;
  fovea_merge_args args{};
};

class ModelMerge : public ::testing::Test {
 protected:
  void SetUp() override {
    fovea_context_args args{};
    args.struct_size = sizeof(args);
    args.model_sm = 90;
    args.model_seed = random_();
    ASSERT_EQ(fovea_context_create(&args, &context_, nullptr), FOVEA_OK);
    error_.struct_size = sizeof(error_);
  }
  void TearDown() override { fovea_context_destroy(context_); }

  fovea_status merge(MergeCall& call, fovea_backend backend) {
    call.args.backend = backend;
    return fovea_merge(context_, &call.args, &error_);
  }

  std::mt19937_64 random_{std::random_device{}()};
  fovea_context* context_ = nullptr;
  fovea_error error_{};
};

class ModelMergeShapes : public ModelMerge, public ::testing::WithParamInterface<MergeShape> {
 protected:
  // Poisoned, columns included that no row has.
  static Tensor strided(fovea_dtype dtype, Shape shape, std::int64_t gap, std::int64_t last_stride) {
    const int last = static_cast<int>(shape.size()) - 1;
    const std::int64_t columns = shape.back();
    shape.back() = columns * last_stride + gap;
    return Tensor(dtype, shape).step(last, last_stride).slice(last, 0, columns);
  }
  static Tensor out_like(const MergeShape& m, fovea_dtype dtype) {
    const Shape shape = m.packed ? Shape{m.rows, m.heads, m.head_dim} : Shape{m.batch, m.rows, m.heads, m.head_dim};
    return strided(dtype, shape, m.gap, m.stride_d);
  }
  static Tensor lse_like(const MergeShape& m) {
    const Shape shape = m.packed ? Shape{m.heads, m.rows} : Shape{m.batch, m.heads, m.rows};
    return strided(FOVEA_F32, shape, m.gap, 1);
  }
  double normal() { return std::normal_distribution<double>()(random_); }

  // Every seventh row of a part has no keys: lse -inf, and NaNs in its out. One row of all parts has none.
  void fill(const MergeShape& m, const Part& part, int number) {
    int row = 0;
    part.lse.visit([&](const Index& i) {
      const bool empty = row == 0 || (row >= number && (row - number) % 7 == 0);
      part.lse.set(empty ? -kInfinity : 4 * normal(), i);
      ++row;
    });
    part.out.visit([&](const Index& i) {
      const Index of_lse = m.packed ? Index{i[1], i[0]} : Index{i[0], i[2], i[1]};
      part.out.set(std::isinf(part.lse.at(of_lse)) ? kNaN : normal(), i);
    });
  }

  static void expect_close(const Tensor& actual, const Tensor& exact, double limit) {
    exact.visit([&](const Index& i) {
      const double x = exact.at(i);
      const auto place = [&] { return ::testing::PrintToString(i); };
      if (std::isinf(x)) {
        EXPECT_EQ(actual.at(i), x) << place();
      } else {
        EXPECT_LE(std::abs(actual.at(i) - x), limit * std::max(1.0, std::abs(x))) << place();
      }
    });
  }
};

constexpr MergeShape kShapes[] = {
    {"two_parts_fp32", 2, 2, 5, 3, 64, FOVEA_F32, 0, 1, false, false, true, false},
    {"bf16_with_sink", 3, 1, 9, 2, 128, FOVEA_BF16, 0, 1, false, true, true, false},
    {"fp16_odd_dim_and_gaps", 5, 2, 3, 4, 59, FOVEA_F16, 3, 1, false, true, true, false},
    {"packed", 2, 1, 13, 3, 40, FOVEA_BF16, 0, 1, true, false, true, false},
    {"strided_columns", 2, 1, 4, 2, 33, FOVEA_F32, 1, 3, false, false, true, false},
    {"in_place", 2, 2, 6, 2, 300, FOVEA_F32, 2, 1, false, true, true, true},
    {"one_part", 1, 1, 5, 2, 8, FOVEA_BF16, 0, 1, false, true, true, false},
    {"most_parts", 32, 1, 5, 2, 16, FOVEA_F32, 0, 1, false, false, true, false},
    {"without_lse", 2, 1, 7, 1, 64, FOVEA_F32, 0, 1, false, false, false, false},
};

TEST_P(ModelMergeShapes, AgreesWithTheReference) {
  const MergeShape& m = GetParam();
  std::vector<Part> parts;
  for (int part = 0; part < m.count; ++part) {
    parts.push_back({out_like(m, m.in_place || part % 2 == 0 ? m.dtype : FOVEA_F32), lse_like(m)});
    fill(m, parts.back(), part);
  }
  const Tensor sink = m.sink ? Tensor(FOVEA_F32, {m.heads}).fill([&](auto...) { return normal(); }) : Tensor();
  const Part exact{out_like(m, FOVEA_F64), lse_like(m)};
  const MergeCall reference(parts, exact, sink);
  ASSERT_EQ(fovea_reference_merge(&reference.args, nullptr), FOVEA_OK);

  const Part result = m.in_place ? parts[0] : Part{out_like(m, m.dtype), m.lse ? lse_like(m) : Tensor()};
  MergeCall call(parts, result, sink);
  ASSERT_EQ(merge(call, FOVEA_BACKEND_MODEL), FOVEA_OK) << error_.asked << ": " << error_.why;
  const double rounding = m.dtype == FOVEA_F32 ? 0x1p-19 : m.dtype == FOVEA_BF16 ? 0x1p-8 : 0x1p-10;
  expect_close(result.out, exact.out, rounding);
  if (m.lse) expect_close(result.lse, exact.lse, 0x1p-20);
}

INSTANTIATE_TEST_SUITE_P(Merge, ModelMergeShapes, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

// One row of one column.
Part tiny(double out, double lse) {
  return {Tensor(FOVEA_F32, {1, 1, 1, 1}).constant(out), Tensor(FOVEA_F32, {1, 1, 1}).constant(lse)};
}

TEST_F(ModelMerge, NanLseMakesTheRowNan) {
  const Part result = tiny(0, 0);
  MergeCall call({tiny(1, 0.5), tiny(3, kNaN)}, result, {});
  ASSERT_EQ(merge(call, FOVEA_BACKEND_MODEL), FOVEA_OK);
  EXPECT_TRUE(std::isnan(result.out.at({})));
  EXPECT_TRUE(std::isnan(result.lse.at({})));
}

TEST_F(ModelMerge, RefusesMorePartsThanAWarpHasLanes) {
  const Part result = tiny(0, 0);
  MergeCall call(std::vector<Part>(kMaxMergeParts + 1, tiny(1, 0.5)), result, {});
  EXPECT_EQ(merge(call, FOVEA_BACKEND_CPU), FOVEA_OK);
  EXPECT_FLOAT_EQ(static_cast<float>(result.out.at({})), 1.0F);
  EXPECT_EQ(merge(call, FOVEA_BACKEND_MODEL), FOVEA_MERGE_COUNT);
  EXPECT_NE(std::string(error_.hint).find("groups"), std::string::npos) << error_.hint;
}

TEST_F(ModelMerge, TheFirstVersionOfTheArgumentsRunsWhereTheTensorsAre) {
  const Part result = tiny(0, 0);
  MergeCall call({tiny(1, 0.5), tiny(3, 0.5)}, result, {});
  call.args.struct_size = offsetof(fovea_merge_args, backend);
  call.args.backend = 77;  // past what the caller claims: not looked at
  ASSERT_EQ(fovea_merge(context_, &call.args, nullptr), FOVEA_OK);
  EXPECT_FLOAT_EQ(static_cast<float>(result.out.at({})), 2.0F);
}

}  // namespace
}  // namespace fovea::testing
