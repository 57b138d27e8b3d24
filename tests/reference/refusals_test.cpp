// The reference refuses what it could not evaluate without crashing, and writes nothing then.
#include <cstring>

#include "reference/plain.h"
#include "support.h"

namespace fovea::reference_test {
namespace {

struct Refusals : testing::Test {
  Reals q{{1, 2, 3, 4}, 1.0}, k{{1, 2, 3, 4}, 1.0}, v{{1, 2, 3, 4}, 1.0}, out{{1, 2, 3, 4}, kNan};
  fovea_forward_args a = arguments(q, k, v);

  void SetUp() override { a.out = out.view(); }

  void expect_refused(fovea_status status, const char* code) {
    for (const auto forward : {fovea_reference_forward, fovea_plain_forward}) {
      fovea_error error{};
      EXPECT_EQ(status, forward(&a, &error));
      EXPECT_EQ(status, error.status);
      EXPECT_STREQ(code, error.code);
      EXPECT_NE(0U, std::strlen(error.asked));
      EXPECT_NE(0U, std::strlen(error.hint));
    }
    for (const double x : out.values) EXPECT_TRUE(std::isnan(x));
  }
};

TEST_F(Refusals, MissingOperand) {
  EXPECT_EQ(FOVEA_NULL_POINTER, fovea_reference_forward(nullptr, nullptr));
  a.v.rank = 0;
  expect_refused(FOVEA_NULL_POINTER, "null_pointer");
}

TEST_F(Refusals, Dtype) {
  a.k.dtype = FOVEA_I32;
  expect_refused(FOVEA_DTYPE, "dtype");
}

TEST_F(Refusals, Rank) {
  a.k.rank = 3;
  expect_refused(FOVEA_RANK, "rank");
}

TEST_F(Refusals, HeadRatio) {
  a.k.shape[2] = 2;
  expect_refused(FOVEA_HEAD_RATIO, "head_ratio");
  a.k.shape[2] = 0;
  expect_refused(FOVEA_HEAD_RATIO, "head_ratio");
}

TEST_F(Refusals, PagesWithoutLengths) {
  Ints table({1, 1}, 0);
  a.page_table = table.view();
  expect_refused(FOVEA_PAGED_ARGUMENTS, "paged_arguments");
}

TEST_F(Refusals, RowFilter) {
  fovea_error error{};
  EXPECT_EQ(FOVEA_SHAPE, fovea_reference_forward_rows(&a, 0, 0, &error));
  EXPECT_STREQ("shape", error.code);
}

TEST_F(Refusals, Merge) {
  fovea_merge_args m{};
  EXPECT_EQ(FOVEA_NULL_POINTER, fovea_reference_merge(&m, nullptr));
  const fovea_tensor part = out.view();
  m.outs = m.lses = &part;
  m.out = part;
  EXPECT_EQ(FOVEA_MERGE_COUNT, fovea_reference_merge(&m, nullptr));
  m.count = 1;
  EXPECT_EQ(FOVEA_RANK, fovea_reference_merge(&m, nullptr));
}

}  // namespace
}  // namespace fovea::reference_test
