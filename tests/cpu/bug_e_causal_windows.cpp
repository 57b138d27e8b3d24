// Bug reports, section E: where the causal diagonal lies when lengths differ, and what a window's bounds include.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

TEST(BugReports, FA_895_right_window_larger_than_key_length) {
  // (-1, >= Sq) is no mask at all; a clamp to Sk would take keys from the first Sq - Sk rows.
  const Tensor q = Tensor(FOVEA_F16, {1, 256, 2, 64}).normal(1), k = Tensor(FOVEA_F16, {1, 64, 2, 64}).normal(2);
  Attention none(q, k, k), huge(q, k, k), just(q, k, k);
  none.expect_reference();
  huge.window_right(std::numeric_limits<std::int32_t>::max()).run();
  just.window_right(256).run();
  expect_identical(huge.out(), none.out());
  expect_identical(just.out(), none.out());
  Attention(q, k, k).window_right(200).expect_reference();
  Attention(q, k, k).window_right(100).expect_reference();
  for (const std::int64_t right : {std::int64_t{200}, std::int64_t{std::numeric_limits<std::int32_t>::max()}})
    Attention(q.select(0, 0), k.select(0, 0), k.select(0, 0))
        .cu_q({0, 200, 256})
        .cu_kv({0, 40, 64})
        .window_right(right)
        .expect_reference();
}

TEST(BugReports, FI_4972_non_causal_window_under_splits) {
  // 8 heads scaled to 2 and 1, kv 4096 to 1100, D 128 to 64; the window of 333 keys stays.
  const Tensor q = Tensor(FOVEA_F16, {1, 75, 2, 64}).normal(1), k = Tensor(FOVEA_F16, {1, 1100, 1, 64}).normal(2);
  const auto table = scattered_pages(1, 69, 70, 3);
  const Tensor pool = paged_copy(k, table, 16, 70);
  for (const std::int32_t splits : {0, 1, 4}) {
    SCOPED_TRACE(splits);
    Attention(q, pool, pool).pages(table).used_kv({1100}).window_left(333).splits(splits).expect_reference();
  }
  Attention(q, pool, pool).pages(table).used_kv({1100}).window_left(333).causal().splits(4).expect_reference();
  Attention(q, pool, pool).pages(table).used_kv({1100}).splits(4).expect_reference();
  const Tensor square = k.slice(1, 0, 400);
  Attention(square, square, square).window_left(333).splits(3).expect_reference();
}

TEST(BugReports, JAX_39576_window_left_without_causal) {
  // 512 rows scaled to 160. Window (16, 0) is the band [i-16, i] with or without the causal flag.
  const Tensor q = Tensor(FOVEA_BF16, {2, 160, 4, 64}).normal(1), k = Tensor(FOVEA_BF16, {2, 160, 4, 64}).normal(2);
  Attention band(q, k, k), with_flag(q, k, k);
  band.window(16, 0).expect_reference();
  with_flag.window(16, 5).causal().run();
  expect_near(with_flag.out(), band.out(), 1e-2);
  Attention(q, k, k).window(16, 5).causal().used_kv({100, 160}).used_q({160, 70}).expect_reference();
}

TEST(BugReports, SAGE_372_causal_decode_alignment) {
  for (const std::int64_t rows : {1, 7, 64, 200}) {
    SCOPED_TRACE(rows);
    const std::int64_t keys = rows == 200 ? 300 : 1024;  // the longest query with fewer keys
    const Tensor q = Tensor(FOVEA_F16, {1, rows, 2, 64}).normal(1), k = Tensor(FOVEA_F16, {1, keys, 1, 64}).normal(2);
    Attention(q, k, k).causal().expect_reference();
    const std::int32_t half = static_cast<std::int32_t>(rows / 2);
    Attention packed(q.select(0, 0), k.select(0, 0), k.select(0, 0));
    packed.cu_q({0, half, static_cast<std::int32_t>(rows)}).cu_kv({0, 130, static_cast<std::int32_t>(keys)}).causal();
    packed.expect_reference();
  }
}

TEST(BugReports, FA_1778_more_queries_than_keys) {
  // Bottom-right alignment leaves the first Sq - Sk rows empty. 2048 x 1024 scaled to 256 x 128.
  const Tensor q = Tensor(FOVEA_F16, {1, 256, 1, 64}).normal(1), k = Tensor(FOVEA_F16, {1, 128, 1, 64}).normal(2);
  Attention call(q, k, k);
  call.causal().expect_reference();
  for (std::int64_t row = 0; row < 128; ++row) expect_empty_row(call, 0, 0, row);
  EXPECT_GT(call.lse().at({0, 0, 128}), -1e30);
}

TEST(BugReports, FA_2199_window_with_more_queries_than_keys) {
  const Tensor q = Tensor(FOVEA_F16, {1, 129, 1, 64}).normal(1), k = Tensor(FOVEA_F16, {1, 30, 1, 64}).normal(2);
  Attention call(q, k, k);
  call.window(32, 64).expect_reference();
  // Row i stands at key i - 99 and sees keys up to i - 35.
  for (std::int64_t row = 0; row < 35; ++row) expect_empty_row(call, 0, 0, row);
  EXPECT_GT(call.lse().at({0, 0, 35}), -1e30);
}

TEST(BugReports, HF_39408_window_bounds_are_inclusive) {
  // q = 0 and V one-hot: out[i][j] is 1 / (number of visible keys) at exactly the visible keys. S 4096 and W 2048
  // scaled to 150 and 64.
  constexpr std::int64_t kS = 150;
  const Tensor q = Tensor(FOVEA_F32, {1, kS, 1, 8}).constant(0), k = Tensor(FOVEA_F32, {1, kS, 1, 8}).normal(2);
  const Tensor v =
      Tensor(FOVEA_F32, {1, kS, 1, kS}).fill([](auto, auto j, auto, auto d) { return j == d ? 1.0 : 0.0; });
  for (const auto& [left, right] : {std::pair<std::int64_t, std::int64_t>{63, 0}, {64, 0}, {0, 0}, {0, 7}, {5, 3}}) {
    SCOPED_TRACE(testing::Message() << left << " " << right);
    Attention call(q, k, v);
    call.window(left, right).run();
    for (std::int64_t i = 0; i < kS; ++i) {
      const std::int64_t first = std::max<std::int64_t>(i - left, 0), last = std::min(i + right, kS - 1);
      for (std::int64_t j = 0; j < kS; ++j) {
        const double right_weight = j < first || j > last ? 0.0 : 1.0 / static_cast<double>(last - first + 1);
        ASSERT_NEAR(call.out().at({0, i, 0, j}), right_weight, right_weight == 0 ? 0.0 : 1e-6) << i << " " << j;
      }
    }
  }
  Attention(q, k, v).window_left(-1).expect_refusal(FOVEA_WINDOW);  // -1 is no word for "unlimited" here
}

TEST(BugReports, FA_2329_softmax_state_across_key_blocks) {
  // From below one key block to several, causal; each length has its control without the flag.
  for (const std::int64_t d : {64, 128}) {
    for (const std::int64_t n : {31, 63, 64, 65, 127, 128, 129, 191, 193, 320}) {
      SCOPED_TRACE(testing::Message() << "d " << d << " n " << n);
      const Tensor q = Tensor(FOVEA_BF16, {1, n, 1, d}).normal(1), k = Tensor(FOVEA_BF16, {1, n, 1, d}).normal(2);
      Attention(q, k, k).causal().expect_reference();
      if (n >= 191) Attention(q, k, k).expect_reference();
    }
  }
}

}  // namespace
}  // namespace fovea::bugs
