// Bug reports, section A: single keys, rows without a visible key, NaN in places that a call may not look at, lse
// order. Sizes are the reports' unless a comment says what was scaled down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(BugReports, FA_334_one_query_one_key) {
  const Tensor q = Tensor(FOVEA_F16, {1, 1, 1, 16}).normal(1, 3), k = Tensor(FOVEA_F16, {1, 1, 1, 16}).normal(2, 3);
  const Tensor v = Tensor(FOVEA_F16, {1, 1, 1, 16}).normal(3, 3);
  Attention call(q, k, v);
  call.expect_reference();
  expect_identical(call.out(), v);
}

TEST(BugReports, FA_443_causal_varlen_most_rows_empty) {
  const Tensor q = Tensor(FOVEA_F16, {256, 1, 32}).normal(1, 3), k = Tensor(FOVEA_F16, {3, 1, 32}).normal(2, 3);
  const Tensor v = Tensor(FOVEA_F16, {3, 1, 32}).normal(3, 3);
  Attention call(q, k, v);
  call.cu_q({0, 76, 110, 256}).cu_kv({0, 1, 2, 3}).causal().expect_reference();
  const std::array<std::int64_t, 3> last = {75, 109, 255};
  for (std::int64_t row = 0; row < 256; ++row) {
    const auto seq = std::find(last.begin(), last.end(), row);
    const bool empty = seq == last.end();
    EXPECT_EQ(call.lse().at({0, row}) == -kInf, empty) << row;
    for (std::int64_t d = 0; d < 32; ++d)
      EXPECT_EQ(call.out().at({row, 0, d}), empty ? 0.0 : v.at({seq - last.begin(), 0, d})) << row;
  }
}

TEST(BugReports, FA_752_rows_past_last_offset) {
  // 16 heads scaled to 2. Rows 486..697 belong to nobody and hold NaN; they are neither read nor written.
  const Tensor qkv(FOVEA_BF16, {698, 3, 2, 64});
  qkv.slice(0, 0, 486).normal(1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    Attention call(qkv.select(1, 0), qkv.select(1, 1), qkv.select(1, 2));
    call.cu_q({0, 137, 486}).cu_kv({0, 137, 486}).causal().expect_reference();
  }
}

TEST(BugReports, PT_103963_bool_mask_with_all_false_rows) {
  const Tensor q = Tensor(FOVEA_F32, {1, 8, 1, 8}).normal(1), k = Tensor(FOVEA_F32, {1, 8, 1, 8}).normal(2);
  const Tensor v = Tensor(FOVEA_F32, {1, 8, 1, 8}).normal(3);
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 8, 8}).fill([](auto, auto, auto i, auto j) { return i < 4 && j < 4; });
  Attention call(q, k, v);
  call.mask(mask).expect_reference();
  for (std::int64_t s = 4; s < 8; ++s) expect_empty_row(call, 0, 0, s);
  Attention(q, k, v).mask(mask.slice(2, 0, 1)).expect_reference();  // control: every row sees keys
}

TEST(BugReports, PT_103749_last_row_all_false) {
  const Tensor q = Tensor(FOVEA_F32, {1, 6, 2, 8}).normal(1), k = Tensor(FOVEA_F32, {1, 10, 2, 8}).normal(2);
  const Tensor v = Tensor(FOVEA_F32, {1, 10, 2, 8}).normal(3);
  Attention call(q, k, v);
  call.mask(Tensor(FOVEA_BOOL, {1, 1, 6, 10}).fill([](auto, auto, auto i, auto) { return i != 5; }));
  call.expect_reference();
  for (std::int64_t h = 0; h < 2; ++h) expect_empty_row(call, 0, h, 5);
}

TEST(BugReports, PT_110213_row_of_lowest_finite_bias) {
  // finfo.min everywhere is a bias like any other: equal weights, not an empty row. fp16's minimum is small enough to
  // leave the scores' differences alive, so there only the reference judges.
  for (const fovea_dtype dtype : kDtypes) {
    const double lowest =
        dtype == FOVEA_F32 ? -static_cast<double>(FLT_MAX) : (dtype == FOVEA_BF16 ? -3.3895313892515355e38 : -65504.0);
    const Tensor q = Tensor(dtype, {1, 3, 1, 4}).normal(1), k = Tensor(dtype, {1, 4, 1, 4}).normal(2);
    const Tensor v = Tensor(dtype, {1, 4, 1, 4}).normal(3);
    const Tensor bias =
        Tensor(dtype, {1, 1, 3, 4}).fill([&](auto, auto, auto i, auto) { return i == 0 ? lowest : 1.0; });
    Attention call(q, k, v);
    call.bias(bias).expect_reference();
    if (dtype == FOVEA_F16) continue;
    for (std::int64_t d = 0; d < 4; ++d) {
      double mean = 0;
      for (std::int64_t j = 0; j < 4; ++j) mean += v.at({0, j, 0, d}) / 4;
      EXPECT_NEAR(call.out().at({0, 0, 0, d}), mean, dtype == FOVEA_F32 ? 1e-6 : 1e-2);
    }
  }
}

TEST(BugReports, PT_101967_nan_at_masked_key) {
  // NaN and Inf in K or V at excluded keys: bit-identical to zeros there. Also in rows past seqused_kv.
  const Tensor q = Tensor(FOVEA_F32, {1, 2, 1, 4}).normal(1);
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 2, 2}).fill([](auto, auto, auto, auto j) { return j == 0; });
  const auto make = [](std::uint64_t seed, double poison) {
    const Tensor t = Tensor(FOVEA_F32, {1, 2, 1, 4}).normal(seed);
    t.set(poison, {0, 1, 0, 0});
    return t;
  };
  Attention control(q, make(2, 0), make(3, 0));
  control.mask(mask).expect_reference();
  for (const double bad : {kNaN, kInf, -kInf}) {
    for (const bool in_v : {false, true}) {
      const Tensor k = make(2, in_v ? 0 : bad), v = make(3, in_v ? bad : 0);
      Attention masked(q, k, v), short_keys(q, k, v);
      masked.mask(mask).run();
      expect_identical(masked.out(), control.out());
      expect_identical(masked.lse(), control.lse());
      short_keys.used_kv({1}).run();
      expect_identical(short_keys.out(), control.out());
    }
  }
}

TEST(BugReports, FA_1745_nan_beyond_cache_length) {
  const Tensor q = Tensor(FOVEA_F16, {2, 1, 1, 64}).constant(0.5);
  const Tensor k(FOVEA_F16, {2, 3, 1, 64}), v(FOVEA_F16, {2, 3, 1, 64});  // NaN
  for (const Tensor& t : {k, v}) {
    t.slice(0, 0, 1).slice(1, 0, 1).normal(2);
    t.slice(0, 1, 1).normal(3);
  }
  Attention dense(q, k, v), paged(q, k, v), paged_by_3(q, k, v);
  dense.used_kv({1, 3}).expect_reference();
  // The same cache seen as pages of one row and of three rows.
  const auto pages_of_1 = std::vector<std::vector<std::int32_t>>{{4, 0, 2}, {1, 5, 3}};
  const auto pages_of_3 = std::vector<std::vector<std::int32_t>>{{1}, {0}};
  for (const auto& [table, size] : {std::pair{pages_of_1, std::int64_t{1}}, std::pair{pages_of_3, std::int64_t{3}}}) {
    Attention call(q, paged_copy(k, table, size, 6), paged_copy(v, table, size, 6));
    call.pages(table).used_kv({1, 3}).expect_reference();
    expect_near(call.out(), dense.out(), 1e-3);
  }
}

TEST(BugReports, FI_942_nan_page_of_another_request) {
  // Absorbed MLA: q and k 512+64 wide, v the first 512 columns of the same cache. Sequence 1 has a NaN row; the outputs
  // of sequences 0 and 2 do not change by one bit. Page 7 belongs to nobody and is all NaN.
  const auto table = std::vector<std::vector<std::int32_t>>{{3, 0}, {5, 1}, {2, 6}};
  const Tensor q = Tensor(FOVEA_BF16, {3, 1, 4, 576}).normal(1);
  const Tensor cache = paged_copy(Tensor(FOVEA_BF16, {3, 8, 1, 576}).normal(2), table, 4, 8);
  const Tensor values = cache.slice(3, 0, 512);
  Attention clean(q, cache, values), dirty(q, cache, values);
  clean.pages(table).used_kv({5, 8, 1}).expect_reference();
  cache.slice(0, 1, 1).slice(1, 2, 1).poison();
  dirty.pages(table).used_kv({5, 8, 1}).run();
  for (const std::int64_t b : {0, 2}) expect_identical(dirty.out().slice(0, b, 1), clean.out().slice(0, b, 1));
  EXPECT_TRUE(std::isnan(dirty.out().at({1, 0, 0, 0})));
}

TEST(BugReports, FI_4267_scores_below_any_sentinel) {
  // All scores equal and far below -5e4: out is the mean of V and lse = score + ln n, split or not. The last split has
  // fewer keys than the others and must not count as much as they do.
  constexpr std::int64_t kKeys = 1037;
  for (const fovea_dtype dtype : kDtypes) {
    const double c = dtype == FOVEA_F32 ? 1e15 : 96;  // score = -8 c^2: -8e30, or -73728
    const Tensor q = Tensor(dtype, {1, 2, 1, 64}).constant(c), k = Tensor(dtype, {1, kKeys, 1, 64}).constant(-c);
    const Tensor v = Tensor(dtype, {1, kKeys, 1, 64}).fill([](auto, auto j, auto, auto) { return j < 1000 ? 1 : 9; });
    const double lse = -8 * q.at({}) * q.at({}) + std::log(kKeys), mean = (1000 + 37 * 9) / 1037.0;
    for (const std::int32_t splits : {0, 1, 2, 4, 7}) {
      SCOPED_TRACE(testing::Message() << fovea_dtype_name(dtype) << " splits " << splits);
      Attention call(q, k, v);
      call.splits(splits).expect_reference();
      EXPECT_NEAR(call.lse().at({0, 0, 1}), lse, std::abs(lse) * 1e-6);
      EXPECT_NEAR(call.out().at({0, 1, 0, 5}), mean, dtype == FOVEA_F32 ? 1e-5 : 6e-3);
    }
    const auto table = scattered_pages(1, 260, 262, 5);
    Attention paged(q.slice(1, 0, 1), paged_copy(k, table, 4, 262), paged_copy(v, table, 4, 262));
    paged.pages(table).used_kv({kKeys}).expect_reference();
  }
}

TEST(BugReports, FI_4450_excluded_key_with_the_largest_score) {
  // Key 3 scores +5e4 and is excluded; the visible keys all score -5e4 and below.
  const Tensor q = Tensor(FOVEA_BF16, {1, 3, 1, 64}).constant(80), k = Tensor(FOVEA_BF16, {1, 9, 1, 64}).constant(-80);
  const Tensor v = Tensor(FOVEA_BF16, {1, 9, 1, 64}).normal(3);
  k.slice(1, 3, 1).constant(80);
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 1, 9}).fill([](auto, auto, auto, auto j) { return j != 3; });
  Attention(q, k, v).mask(mask).expect_reference();
  Attention(q, k, v).mask(mask).splits(3).expect_reference();
  Attention(q, k, v).expect_reference();  // control: visible, it takes all the weight
}

TEST(BugReports, FI_4051_merge_of_empty_partials) {
  for (const int rank : {3, 4}) {  // varlen and dense
    const auto part = [&](double out, double lse) {
      const Shape rows = rank == 3 ? Shape{1, 1, 64} : Shape{1, 1, 1, 64};
      const Shape sums = rank == 3 ? Shape{1, 1} : Shape{1, 1, 1};
      return Part{Tensor(FOVEA_F16, rows).constant(out), Tensor(FOVEA_F32, sums).constant(lse)};
    };
    const Part empty = part(0, -kInf), full = part(1.5, 2.25);
    for (const std::size_t count : {1u, 2u, 5u}) {
      const Part result = part(kNaN, kNaN);
      merge(std::vector<Part>(count, empty), result);
      expect_identical(result.out, empty.out);
      expect_identical(result.lse, empty.lse);
    }
    const Part mixed = part(kNaN, kNaN);
    merge({empty, full, empty}, mixed);
    expect_identical(mixed.out, full.out);
    expect_identical(mixed.lse, full.lse);
    merge({mixed, empty}, mixed);  // in place
    expect_identical(mixed.out, full.out);
    expect_identical(mixed.lse, full.lse);
  }
}

TEST(BugReports, VLLM_39148_all_splits_empty) {
  const Tensor q = Tensor(FOVEA_F16, {2, 1, 4, 64}).normal(1), k = Tensor(FOVEA_F16, {2, 64, 2, 64}).normal(2);
  Attention call(q, k, k);
  call.used_kv({0, 3}).splits(4).expect_reference();  // entry 1: three of four splits are empty
  for (std::int64_t h = 0; h < 4; ++h) expect_empty_row(call, 0, h, 0);
}

TEST(BugReports, FA_2842_early_exit_lse_offset) {
  for (const fovea_dtype dtype : kHalfDtypes) {
    const Tensor q = Tensor(dtype, {192, 4, 64}).normal(1), k = Tensor(dtype, {128, 4, 64}).normal(2);
    Attention call(q, k, k);
    call.cu_q({0, 64, 128, 192}).cu_kv({0, 0, 64, 128}).expect_reference();
    call.lse().visit(
        [&](const Index& i) { EXPECT_EQ(std::isinf(call.lse().at(i)), i[1] < 64) << i[0] << " " << i[1]; });
  }
}

TEST(BugReports, VLLM_FA_87_lse_order_with_splits) {
  for (const std::int64_t batch : {1, 8}) {
    const Tensor q = Tensor(FOVEA_BF16, {batch, 32, 128}).normal(1);
    const Tensor k = Tensor(FOVEA_BF16, {batch, 300, 8, 128}).normal(2),
                 v = Tensor(FOVEA_BF16, {batch, 300, 8, 128}).normal(3);
    std::vector<std::int32_t> offsets;
    for (std::int32_t b = 0; b <= batch; ++b) offsets.push_back(b);
    Attention whole(q, k, v);
    whole.cu_q(offsets).splits(1).expect_reference();
    for (const std::int32_t splits : {2, 4, 16}) {
      Attention call(q, k, v);
      call.cu_q(offsets).splits(splits).run();
      expect_near(call.lse(), whole.lse(), 1e-4);  // a tenth of what the contract allows in bf16
      expect_near(call.out(), whole.out(), 1e-2);
    }
  }
}

TEST(BugReports, XF_1042_zero_length_keys) {
  const Tensor q = Tensor(FOVEA_F16, {6, 2, 68}).normal(1), k = Tensor(FOVEA_F16, {4, 2, 68}).normal(2);
  Attention call(q, k, k);
  call.cu_q({0, 1, 3, 4, 6}).cu_kv({0, 0, 2, 2, 4}).expect_reference();
  for (const std::int64_t token : {0, 3})
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t d = 0; d < 68; ++d) EXPECT_EQ(call.out().at({token, h, d}), 0.0);
}

}  // namespace
}  // namespace fovea::bugs
