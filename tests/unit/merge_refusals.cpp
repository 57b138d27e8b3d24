// Every refusal of a merge call, and the views that it accepts in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "unit/forward_case.h"

namespace fovea::test {
namespace {

// Two parts of [2, 3, 4, 6] in f32 and a result apart from them.
struct MergeCase {
  MergeCase() {
    for (std::size_t i = 0; i < 2; ++i) {
      outs[i] = view(part_out[i].data(), FOVEA_F32, {2, 3, 4, 6});
      lses[i] = view(part_lse[i].data(), FOVEA_F32, {2, 4, 3});
    }
    std::fill(out.begin(), out.end(), std::bit_cast<float>(kUnwritten));
    std::fill(lse.begin(), lse.end(), std::bit_cast<float>(kUnwritten));
    args.struct_size = sizeof(args);
    args.outs = outs.data();
    args.lses = lses.data();
    args.count = 2;
    args.out = view(out.data(), FOVEA_F32, {2, 3, 4, 6});
    args.lse = view(lse.data(), FOVEA_F32, {2, 4, 3});
    error.struct_size = sizeof(error);
  }
  MergeCase(const MergeCase&) = delete;
  MergeCase& operator=(const MergeCase&) = delete;

  bool untouched() const {
    const auto same = [](float x) { return std::bit_cast<std::uint32_t>(x) == kUnwritten; };
    return std::all_of(out.begin(), out.end(), same) && std::all_of(lse.begin(), lse.end(), same);
  }

  std::vector<float> out = std::vector<float>(144), lse = std::vector<float>(24), sink = std::vector<float>(4);
  std::array<std::vector<float>, 2> part_out{std::vector<float>(144, 1.0F), std::vector<float>(144, 3.0F)};
  std::array<std::vector<float>, 2> part_lse{std::vector<float>(24, 0.5F), std::vector<float>(24, 0.5F)};
  std::array<fovea_tensor, 2> outs{}, lses{};
  fovea_merge_args args{};
  fovea_error error{};
};

using M = MergeCase;

struct MergeRow {
  const char* name;
  fovea_status status;
  void (*bend)(MergeCase&);
  const char* in_asked;
};

const MergeRow kRefused[] = {
    {"count_zero", FOVEA_MERGE_COUNT, [](M& m) { m.args.count = 0; }, "count=0"},
    {"count_negative", FOVEA_MERGE_COUNT, [](M& m) { m.args.count = -2; }, "count=-2"},
    {"struct_size", FOVEA_STRUCT_SIZE, [](M& m) { m.args.struct_size = 12; }, "12"},
    {"reserved", FOVEA_UNKNOWN_FLAG, [](M& m) { m.args.reserved = 1; }, "reserved=1"},
    {"reserved2", FOVEA_UNKNOWN_FLAG, [](M& m) { m.args.reserved2 = 1; }, "reserved2=1"},
    {"backend", FOVEA_UNKNOWN_FLAG, [](M& m) { m.args.backend = 4; }, "backend=4"},
    {"backend_elsewhere", FOVEA_DEVICE, [](M& m) { m.args.backend = FOVEA_BACKEND_CUDA; }, "CPU memory, backend=2"},
    {"no_outs", FOVEA_NULL_POINTER, [](M& m) { m.args.outs = nullptr; }, "outs"},
    {"no_lses", FOVEA_NULL_POINTER, [](M& m) { m.args.lses = nullptr; }, "lses"},
    {"no_out", FOVEA_NULL_POINTER, [](M& m) { m.args.out = {}; }, "out"},
    {"no_part_lse", FOVEA_NULL_POINTER, [](M& m) { m.lses[1] = {}; }, "lses[i]"},
    {"null_part", FOVEA_NULL_POINTER, [](M& m) { m.outs[1].data = nullptr; }, "outs[i].data"},
    {"dtype", FOVEA_DTYPE, [](M& m) { m.args.out.dtype = FOVEA_I32; }, "out in i32"},
    {"part_dtype", FOVEA_DTYPE, [](M& m) { m.outs[1].dtype = FOVEA_I32; }, "(i=1)"},
    {"lse_dtype", FOVEA_DTYPE, [](M& m) { m.lses[0].dtype = FOVEA_BF16; }, "(i=0)"},
    {"rank", FOVEA_RANK,
     [](M& m) {
       m.args.out = view(m.out.data(), FOVEA_F32, {12, 12});
     },
     "rank 2"},
    {"part_rank", FOVEA_SHAPE,
     [](M& m) {
       m.outs[0] = view(m.part_out[0].data(), FOVEA_F32, {6, 4, 6});
     },
     "[6, 4, 6]"},
    {"part_shape", FOVEA_SHAPE, [](M& m) { m.outs[1].shape[1] = 2; }, "[2, 2, 4, 6]"},
    {"lse_shape", FOVEA_SHAPE, [](M& m) { m.args.lse.shape[2] = 2; }, "[2, 4, 2]"},
    {"part_lse_shape", FOVEA_SHAPE, [](M& m) { m.lses[1].shape[1] = 3; }, "[2, 3, 3]"},
    {"head_dim", FOVEA_HEAD_DIM, [](M& m) { m.args.out.shape[3] = 0; }, "[2, 3, 4, 0]"},
    {"sink_shape", FOVEA_SINK_SHAPE, [](M& m) { m.args.sink = view(m.sink.data(), FOVEA_F32, {3}); }, "[3]"},
    {"stride_overflow", FOVEA_STRIDE_OVERFLOW,
     [](M& m) { m.outs[0].strides[0] = std::numeric_limits<std::int64_t>::max(); }, "outs[i]"},
    {"alignment", FOVEA_ALIGNMENT,
     [](M& m) { m.lses[0].data = reinterpret_cast<char*>(m.lses[0].data) + 1, m.lses[0].shape[0] = 1; }, "lses[i]"},
    {"device", FOVEA_DEVICE, [](M& m) { m.outs[1].device_type = FOVEA_DEVICE_CUDA; }, "outs[i]"},
    {"out_meets_itself", FOVEA_OUTPUT_OVERLAP, [](M& m) { m.args.out.strides[0] = 0; }, "out"},
    {"out_shifted_into_part", FOVEA_OUTPUT_OVERLAP, [](M& m) { m.args.out.data = m.part_out[0].data() + 1; },
     "outs[i]"},
    {"out_other_strides_than_part", FOVEA_OUTPUT_OVERLAP,
     [](M& m) {
       m.args.out.data = m.part_out[0].data(), std::swap(m.args.out.strides[1], m.args.out.strides[2]),
       m.args.out.strides[1] = 6, m.args.out.strides[2] = 18;
     },
     "outs[i]"},
    {"out_in_lse", FOVEA_OUTPUT_OVERLAP, [](M& m) { m.args.lse.data = m.out.data(); }, "lse"},
    {"lse_in_sink", FOVEA_OUTPUT_OVERLAP, [](M& m) { m.args.sink = view(m.lse.data(), FOVEA_F32, {4}); }, "sink"},
};

class MergeRefusal : public testing::TestWithParam<MergeRow> {};

TEST_P(MergeRefusal, names_the_fault_and_writes_nothing) {
  const ContextPtr context = make_context();
  MergeCase m;
  GetParam().bend(m);
  const auto parts_before = m.part_out;
  EXPECT_EQ(fovea_merge(context.get(), &m.args, &m.error), GetParam().status);
  EXPECT_EQ(refusal_fault(m.error, GetParam().status), "");
  EXPECT_NE(std::strstr(m.error.asked, GetParam().in_asked), nullptr) << m.error.asked;
  EXPECT_TRUE(m.untouched());
  EXPECT_EQ(m.part_out, parts_before);
}

INSTANTIATE_TEST_SUITE_P(All, MergeRefusal, testing::ValuesIn(kRefused),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Merge, null_context_and_args) {
  const ContextPtr context = make_context();
  MergeCase m;
  EXPECT_EQ(fovea_merge(nullptr, &m.args, &m.error), FOVEA_NULL_POINTER);
  EXPECT_EQ(fovea_merge(context.get(), nullptr, &m.error), FOVEA_NULL_POINTER);
  EXPECT_TRUE(m.untouched());
}

void expect_mean(const float* out) {
  for (int i = 0; i < 144; ++i) EXPECT_FLOAT_EQ(out[i], 2.0F) << i;  // equal weights of 1 and 3
}

TEST(Merge, equal_parts_average) {
  const ContextPtr context = make_context();
  MergeCase m;
  ASSERT_EQ(fovea_merge(context.get(), &m.args, &m.error), FOVEA_OK) << m.error.asked;
  expect_mean(m.out.data());
  for (const float lse : m.lse) EXPECT_FLOAT_EQ(lse, 0.5F + 0.6931472F);
}

TEST(Merge, into_the_very_views_of_a_part) {
  const ContextPtr context = make_context();
  MergeCase m;
  m.args.out = m.outs[1];
  m.args.lse = m.lses[1];
  ASSERT_EQ(fovea_merge(context.get(), &m.args, &m.error), FOVEA_OK) << m.error.asked;
  expect_mean(m.part_out[1].data());
  for (const float lse : m.part_lse[1]) EXPECT_FLOAT_EQ(lse, 0.5F + 0.6931472F);
}

TEST(Merge, without_lse_and_with_empty_extents) {
  const ContextPtr context = make_context();
  MergeCase m;
  m.args.lse = {};
  ASSERT_EQ(fovea_merge(context.get(), &m.args, &m.error), FOVEA_OK);
  expect_mean(m.out.data());
  for (fovea_tensor* t : {&m.args.out, &m.outs[0], &m.outs[1]}) t->shape[0] = 0, t->data = nullptr;
  for (fovea_tensor* t : {&m.lses[0], &m.lses[1]}) t->shape[0] = 0, t->data = nullptr;
  EXPECT_EQ(fovea_merge(context.get(), &m.args, &m.error), FOVEA_OK) << m.error.asked;
}

}  // namespace
}  // namespace fovea::test
