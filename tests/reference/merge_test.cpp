// Merging partial results, by hand and against the unsplit call.
#include <array>

#include "support.h"

namespace fovea::reference_test {
namespace {

// Merges results into fresh NaN-filled ones.
Result merge(std::vector<Result*> parts, Reals* sink = nullptr) {
  std::vector<fovea_tensor> outs, lses;
  for (Result* part : parts) outs.push_back(part->out.view()), lses.push_back(part->lse.view());
  Result r{Reals(parts[0]->out.shape, kNan), Reals(parts[0]->lse.shape, kNan)};
  fovea_merge_args a{};
  a.struct_size = sizeof(a);
  a.outs = outs.data();
  a.lses = lses.data();
  a.count = static_cast<std::int32_t>(parts.size());
  a.out = r.out.view();
  a.lse = r.lse.view();
  if (sink != nullptr) a.sink = sink->view();
  EXPECT_EQ(FOVEA_OK, fovea_reference_merge(&a, nullptr));
  return r;
}

Result one_row(double out, double lse) { return {Reals({1, 1, 1, 1}, out), Reals({1, 1, 1}, lse)}; }

TEST(Merge, ByHand) {
  // Weights e^0 = 1 and e^(ln 3) = 3: out = (1 * 8 + 3 * 4) / 4 = 5, lse = ln 4.
  Result x = one_row(8, 0), y = one_row(4, std::log(3.0));
  expect_near(one_row(5, std::log(4.0)), merge({&x, &y}), 1e-15);
}

TEST(Merge, SinkOnceAtTheEnd) {
  // lse = ln 4 = sink: half of 5 is left, and lse stays.
  Result x = one_row(8, 0), y = one_row(4, std::log(3.0));
  Reals sink({1}, std::log(4.0));
  expect_near(one_row(2.5, std::log(4.0)), merge({&x, &y}, &sink), 1e-15);
}

TEST(Merge, EmptyIsTheIdentity) {
  Result x = one_row(8, -700), empty = one_row(0, -kInfinity);
  expect_near(x, merge({&x, &empty}), 0);
  expect_near(x, merge({&empty, &x, &empty}), 0);
  expect_near(empty, merge({&empty, &empty}), 0);
  Reals sink({1}, -kInfinity);
  expect_near(empty, merge({&empty}, &sink), 0);
}

TEST(Merge, HugeLseDoesNotOverflow) {
  Result x = one_row(8, 1e30), y = one_row(4, 1e30), z = one_row(1, -1e30);
  expect_near(one_row(6, 1e30), merge({&x, &y, &z}), 1e-15);
}

TEST(Merge, NanLseMakesTheRowNan) {
  Result x = one_row(8, 0), y = one_row(4, kNan);
  expect_near(one_row(kNan, kNan), merge({&x, &y}), 0);
}

TEST(Merge, ResultMayBeAPart) {
  Result x = one_row(8, 0), y = one_row(4, std::log(3.0));
  std::array<fovea_tensor, 2> outs{x.out.view(), y.out.view()}, lses{x.lse.view(), y.lse.view()};
  fovea_merge_args a{};
  a.outs = outs.data();
  a.lses = lses.data();
  a.count = 2;
  a.out = outs[1];
  a.lse = lses[1];
  ASSERT_EQ(FOVEA_OK, fovea_reference_merge(&a, nullptr));
  expect_near(one_row(5, std::log(4.0)), y, 1e-15);
  expect_near(one_row(8, 0), x, 0);
}

TEST(Merge, SplitKeysMergeToTheWhole) {
  // Three key ranges chosen by mask; range 2 is empty for query 1.
  Reals q = random({2, 3, 4, 5}, 1), k = random({2, 9, 2, 5}, 2), v = random({2, 9, 2, 7}, 3);
  Reals sink = random({4}, 4);
  std::vector<Bools> masks(4, Bools({1, 1, 3, 9}, 0));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 9; ++j)
      if (i != 1 || j < 6) masks[3].at({0, 0, i, j}) = masks[static_cast<std::size_t>(j / 3)].at({0, 0, i, j}) = 1;
  fovea_forward_args a = arguments(q, k, v);
  std::vector<Result> parts;
  for (std::size_t p = 0; p < 3; ++p) {
    a.mask = masks[p].view();
    parts.push_back(run(a));
  }
  a.mask = masks[3].view();
  a.sink = sink.view();
  expect_near(run(a), merge({&parts[0], &parts[1], &parts[2]}, &sink), 1e-13);
}

TEST(Merge, PackedResults) {
  // [T, H, D] and [H, T]: rows and heads must not be confused.
  Result x{Reals({2, 3, 1}, {1, 2, 3, 4, 5, 6}), Reals({3, 2}, {0, 9, 0, 9, 0, 9})};
  Result y{Reals({2, 3, 1}, 0.0), Reals({3, 2}, {0, -kInfinity, 0, -kInfinity, -kInfinity, 9})};
  const double ln2 = std::log(2.0);
  const Result expected{Reals({2, 3, 1}, {0.5, 1, 3, 4, 5, 3}), Reals({3, 2}, {ln2, 9, ln2, 9, 0, 9 + ln2})};
  expect_near(expected, merge({&x, &y}), 1e-14);
}

}  // namespace
}  // namespace fovea::reference_test
