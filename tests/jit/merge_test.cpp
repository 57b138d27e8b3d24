// The merge kernel on the functional model against the fp64 reference, through fovea_merge(): parts of every dtype and
// stride, in place, with empty rows, NaNs and a sink. Also the same call in the first version of its struct.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "device/spec/merge_params.h"
#include "fovea/fovea.h"
#include "reference/reference.h"

namespace fovea::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A tensor with memory of its own; rows lie `gap` elements apart from where they would be packed.
struct Owned {
  std::vector<std::uint8_t> bytes;
  fovea_tensor view{};

  Owned(fovea_dtype dtype, std::vector<std::int64_t> shape, std::int64_t gap, std::int64_t last_stride = 1) {
    view.dtype = dtype;
    view.rank = static_cast<std::int32_t>(shape.size());
    std::int64_t stride = last_stride;
    for (std::size_t i = shape.size(); i-- > 0;) {
      view.shape[i] = shape[i];
      view.strides[i] = stride;
      stride = stride * shape[i] + (i + 1 == shape.size() ? gap : 0);
    }
    bytes.resize(static_cast<std::size_t>(stride + gap) * fovea_dtype_size(dtype), 0xFF);  // NaNs
    view.data = bytes.data();
  }

  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int32_t i = 0; i < view.rank; ++i) n *= view.shape[i];
    return n;
  }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t at = 0;
    for (std::int32_t i = view.rank; i-- > 0;) {
      at += index % view.shape[i] * view.strides[i];
      index /= view.shape[i];
    }
    return at;
  }
  void set(std::int64_t index, float x) {
    const std::int64_t at = offset(index);
    if (view.dtype == FOVEA_F32) static_cast<float*>(view.data)[at] = x;
    if (view.dtype == FOVEA_BF16) static_cast<u16*>(view.data)[at] = f32_to_bf16(x);
    if (view.dtype == FOVEA_F16) static_cast<u16*>(view.data)[at] = f32_to_f16(x);
  }
  double at(std::int64_t index) const {
    const std::int64_t at = offset(index);
    if (view.dtype == FOVEA_F64) return static_cast<const double*>(view.data)[at];
    if (view.dtype == FOVEA_F32) return static_cast<const float*>(view.data)[at];
    const u16 bits = static_cast<const u16*>(view.data)[at];
    return view.dtype == FOVEA_BF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }
};

struct MergeShape {
  const char* name;
  int count;
  std::int64_t batch, rows, heads, head_dim;
  fovea_dtype dtype;
  std::int64_t gap, stride_d;
  bool packed, sink, lse, in_place;
};

std::ostream& operator<<(std::ostream& out, const MergeShape& shape) { return out << shape.name; }

class ModelMerge : public ::testing::Test {
 protected:
  void SetUp() override {
    fovea_context_args args{};
    args.struct_size = sizeof(args);
    args.model_sm = 90;
    args.model_seed = random_();
    ASSERT_EQ(fovea_context_create(&args, &context_, nullptr), FOVEA_OK);
  }
  void TearDown() override { fovea_context_destroy(context_); }

  std::mt19937_64 random_{std::random_device{}()};
  fovea_context* context_ = nullptr;
};

class ModelMergeShapes : public ModelMerge, public ::testing::WithParamInterface<MergeShape> {
 protected:
  Owned out_like(const MergeShape& m, fovea_dtype dtype) const {
    std::vector<std::int64_t> shape{m.batch, m.rows, m.heads, m.head_dim};
    if (m.packed) shape.erase(shape.begin());
    return {dtype, shape, m.gap, m.stride_d};
  }
  Owned lse_like(const MergeShape& m) const {
    std::vector<std::int64_t> shape{m.batch, m.heads, m.rows};
    if (m.packed) shape.erase(shape.begin());
    return {FOVEA_F32, shape, m.gap};
  }
  float normal() { return std::normal_distribution<float>()(random_); }

  // Every seventh row of a part has no keys: lse -inf, and NaNs in its out. One row of all parts has none.
  void fill(const MergeShape& m, Owned& out, Owned& lse, int part) {
    for (std::int64_t i = 0; i < lse.count(); ++i) lse.set(i, 4.0F * normal());
    for (std::int64_t i = part; i < lse.count(); i += 7) lse.set(i, -kInfinity);
    lse.set(0, -kInfinity);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const std::int64_t h = i / m.head_dim % m.heads;
      const std::int64_t s = i / m.head_dim / m.heads % m.rows;
      const std::int64_t b = i / m.head_dim / m.heads / m.rows;
      const bool empty = std::isinf(lse.at((b * m.heads + h) * m.rows + s));
      out.set(i, empty ? std::numeric_limits<float>::quiet_NaN() : normal());
    }
  }

  static void expect_close(const Owned& actual, const Owned& exact, double limit) {
    for (std::int64_t i = 0; i < exact.count(); ++i) {
      const double x = exact.at(i);
      if (std::isinf(x)) {
        EXPECT_EQ(actual.at(i), x) << "element " << i;
      } else {
        EXPECT_LE(std::abs(actual.at(i) - x), limit * std::max(1.0, std::abs(x))) << "element " << i;
      }
    }
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
  std::vector<Owned> outs, lses;
  std::vector<fovea_tensor> out_views, lse_views;
  for (int part = 0; part < m.count; ++part) {
    outs.push_back(out_like(m, m.in_place || part % 2 == 0 ? m.dtype : FOVEA_F32));
    lses.push_back(lse_like(m));
    fill(m, outs.back(), lses.back(), part);
  }
  for (int part = 0; part < m.count; ++part) {
    out_views.push_back(outs[static_cast<std::size_t>(part)].view);
    lse_views.push_back(lses[static_cast<std::size_t>(part)].view);
  }
  Owned sink(FOVEA_F32, {m.heads}, 0);
  for (std::int64_t h = 0; h < m.heads; ++h) sink.set(h, normal());

  fovea_merge_args args{};
  args.struct_size = sizeof(args);
  args.outs = out_views.data();
  args.lses = lse_views.data();
  args.count = m.count;
  if (m.sink) args.sink = sink.view;
  Owned exact = out_like(m, FOVEA_F64);
  Owned exact_lse = lse_like(m);
  args.out = exact.view, args.lse = exact_lse.view;
  ASSERT_EQ(fovea_reference_merge(&args, nullptr), FOVEA_OK);

  Owned out = out_like(m, m.dtype);
  Owned lse = lse_like(m);
  args.out = m.in_place ? outs[0].view : out.view;
  args.lse = m.in_place ? lses[0].view : lse.view;
  if (!m.lse) args.lse = {};
  args.backend = FOVEA_BACKEND_MODEL;
  fovea_error error{};
  error.struct_size = sizeof(error);
  ASSERT_EQ(fovea_merge(context_, &args, &error), FOVEA_OK) << error.asked << ": " << error.why;
  const double rounding = m.dtype == FOVEA_F32 ? 0x1p-19 : m.dtype == FOVEA_BF16 ? 0x1p-8 : 0x1p-10;
  expect_close(m.in_place ? outs[0] : out, exact, rounding);
  if (m.lse) expect_close(m.in_place ? lses[0] : lse, exact_lse, 0x1p-20);
}

INSTANTIATE_TEST_SUITE_P(Merge, ModelMergeShapes, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

// One row of two parts of one column, in CPU memory.
struct TinyMerge {
  std::array<float, 2> part{1.0F, 3.0F}, part_lse{0.5F, 0.5F};
  float out = 0.0F, lse = 0.0F;
  std::array<fovea_tensor, 2> outs{}, lses{};
  fovea_merge_args args{};

  TinyMerge() {
    for (std::size_t i = 0; i < 2; ++i) outs[i] = view(part[i], 4), lses[i] = view(part_lse[i], 3);
    args.struct_size = sizeof(args);
    args.outs = outs.data(), args.lses = lses.data();
    args.count = 2;
    args.out = view(out, 4), args.lse = view(lse, 3);
  }
  static fovea_tensor view(float& x, std::int32_t rank) {
    fovea_tensor t{};
    t.data = &x;
    t.dtype = FOVEA_F32;
    t.rank = rank;
    for (std::int32_t i = 0; i < rank; ++i) t.shape[i] = t.strides[i] = 1;
    return t;
  }
};

TEST_F(ModelMerge, NanLseMakesTheRowNan) {
  TinyMerge m;
  m.part_lse[1] = std::numeric_limits<float>::quiet_NaN();
  m.args.backend = FOVEA_BACKEND_MODEL;
  ASSERT_EQ(fovea_merge(context_, &m.args, nullptr), FOVEA_OK);
  EXPECT_TRUE(std::isnan(m.out));
  EXPECT_TRUE(std::isnan(m.lse));
}

TEST_F(ModelMerge, RefusesMorePartsThanAWarpHasLanes) {
  TinyMerge m;
  const std::vector<fovea_tensor> outs(kMaxMergeParts + 1, m.outs[0]), lses(kMaxMergeParts + 1, m.lses[0]);
  m.args.outs = outs.data(), m.args.lses = lses.data();
  m.args.count = kMaxMergeParts + 1;
  EXPECT_EQ(fovea_merge(context_, &m.args, nullptr), FOVEA_OK);  // on the CPU
  EXPECT_FLOAT_EQ(m.out, 1.0F);
  m.args.backend = FOVEA_BACKEND_MODEL;
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(fovea_merge(context_, &m.args, &error), FOVEA_MERGE_COUNT);
  EXPECT_NE(std::string(error.hint).find("groups"), std::string::npos) << error.hint;
}

TEST_F(ModelMerge, TheFirstVersionOfTheArgumentsRunsWhereTheTensorsAre) {
  TinyMerge m;
  m.args.struct_size = offsetof(fovea_merge_args, backend);
  m.args.backend = 77;  // past what the caller claims: not looked at
  ASSERT_EQ(fovea_merge(context_, &m.args, nullptr), FOVEA_OK);
  EXPECT_FLOAT_EQ(m.out, 2.0F);
}

}  // namespace
}  // namespace fovea::testing
