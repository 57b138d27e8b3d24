// Bug reports, section D: boolean masks and additive bias: odd row strides, broadcast views, guard pages behind the
// last element, masks that say what a flag also says, and masks of the wrong size.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

Tensor causal_mask(const Shape& shape) {
  const std::int64_t shift = shape[3] - shape[2];
  return Tensor(FOVEA_BOOL, shape).fill([=](auto, auto, auto i, auto j) { return j <= i + shift; });
}

TEST(BugReports, FSA_168_odd_key_length_mask_and_bias) {
  // 4095 scaled to 255; 256 is the passing control. The bias is fp16, so its rows are 510 bytes: never 16-byte aligned.
  for (const std::int64_t n : {255, 256}) {
    SCOPED_TRACE(n);
    const Tensor q = Tensor(FOVEA_F16, {1, n, 2, 128}).normal(1), k = Tensor(FOVEA_F16, {1, n, 1, 128}).normal(2);
    const Tensor bias = Tensor::guarded(FOVEA_F16, {1, 1, n, n}).normal(4);
    const Tensor mask =
        Tensor::guarded(FOVEA_BOOL, {1, 1, n, n}).fill([](auto, auto, auto i, auto j) { return (3 * i + j) % 4 != 0; });
    Attention(q, k, k).causal().mask(mask).bias(bias).expect_reference();
    Attention(q, k, k).causal().mask(mask.expand(1, 2)).bias(bias.expand(1, 2)).expect_reference();
  }
}

TEST(BugReports, FA_617_bias_lengths_off_the_tile_grid) {
  for (const std::int64_t keys : {512, 513, 520, 700, 1000, 1025}) {
    SCOPED_TRACE(keys);
    const std::int64_t rows = keys / 16 + 1;  // queries scaled down
    const Tensor q = Tensor(FOVEA_F16, {1, rows, 2, 64}).normal(1), k = Tensor(FOVEA_F16, {1, keys, 2, 64}).normal(2);
    for (const fovea_dtype dtype : kDtypes)
      Attention(q, k, k).bias(Tensor(dtype, {1, 2, rows, keys}).normal(3)).expect_reference();
  }
}

TEST(BugReports, XF_813_bias_of_43_keys) {
  const Tensor q = Tensor(FOVEA_F16, {2, 16, 16, 64}).normal(1), k = Tensor(FOVEA_F16, {2, 43, 16, 64}).normal(2);
  const Tensor bias = Tensor(FOVEA_F16, {2, 16, 16, 43}).normal(3);  // strides 11008, 688, 43, 1
  Attention(q, k, k).bias(bias).expect_reference();
  Attention(q, k, k).bias(bias.slice(2, 3, 1).expand(2, 16)).expect_reference();
}

TEST(BugReports, XF_808_bias_sliced_from_a_padded_buffer) {
  // 133 sequences scaled to 3. The three columns past the slice stay NaN.
  const Tensor q = Tensor(FOVEA_F16, {3, 77, 8, 64}).normal(1), k = Tensor(FOVEA_F16, {3, 77, 8, 64}).normal(2);
  const Tensor bias = Tensor(FOVEA_F16, {3, 8, 77, 80}).slice(3, 0, 77).normal(3);
  Attention(q, k, k).bias(bias).expect_reference();
  Attention(q, k, k).bias(bias.packed_copy()).expect_reference();
}

TEST(BugReports, XF_783_broadcast_bias) {
  constexpr std::int64_t kB = 2, kH = 8, kS = 48;
  const Tensor q = Tensor(FOVEA_F16, {kB, kS, kH, 80}).normal(1), k = Tensor(FOVEA_F16, {kB, kS, 4, 80}).normal(2);
  for (const Shape& shape : {Shape{1, kH, kS, kS}, Shape{kB, 1, kS, kS}, Shape{1, 1, kS, kS}, Shape{1, 1, 1, kS},
                             Shape{kB, kH, kS, kS}, Shape{kB, 4, 1, kS}, Shape{1, 4, kS, kS}, Shape{kB, kH, 1, kS}}) {
    SCOPED_TRACE(testing::PrintToString(shape));
    const Tensor bias = Tensor(FOVEA_F16, shape).normal(3), wide = Tensor(FOVEA_F32, shape).normal(4);
    const Tensor mask =
        Tensor(FOVEA_BOOL, shape).fill([](auto b, auto h, auto i, auto j) { return (b + h + i + j) % 5 != 0; });
    Attention(q, k, k).bias(bias).expect_reference();
    Attention(q, k, k).mask(mask).bias(wide).expect_reference();
  }
}

TEST(BugReports, FI_860_custom_mask_with_narrow_values) {
  // A mask that says "causal" and the causal flag agree for every batch size, values narrower than keys.
  for (std::int32_t batch = 1; batch <= 12; batch += batch < 3 ? 1 : 3) {
    SCOPED_TRACE(batch);
    const Tensor q = Tensor(FOVEA_F16, {37 * batch, 4, 192}).normal(1),
                 k = Tensor(FOVEA_F16, {54 * batch, 4, 192}).normal(2);
    const Tensor v = Tensor(FOVEA_F16, {54 * batch, 4, 128}).normal(3);
    std::vector<std::int32_t> cu_q, cu_kv;
    for (std::int32_t b = 0; b <= batch; ++b) cu_q.push_back(37 * b), cu_kv.push_back(54 * b);
    Attention flag(q, k, v), mask(q, k, v);
    flag.cu_q(cu_q).cu_kv(cu_kv).causal();
    mask.cu_q(cu_q).cu_kv(cu_kv).mask(causal_mask({1, 1, 37, 54}));
    if (batch <= 2) mask.expect_reference();
    expect_near(mask.run().out(), flag.run().out(), 2e-3);
    expect_near(mask.lse(), flag.lse(), 1e-5);
  }
}

TEST(BugReports, XF_1122_mask_for_other_lengths) {
  const Tensor q = Tensor(FOVEA_F32, {1, 10, 4, 8}).normal(1);
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 10, 20}).constant(1),
               bias = Tensor(FOVEA_F32, {1, 1, 10, 20}).normal(3);
  for (const std::int64_t keys : {1, 2, 10, 17, 20, 21}) {
    SCOPED_TRACE(keys);
    const Tensor k = Tensor(FOVEA_F32, {1, keys, 4, 8}).normal(2);
    if (keys == 20) {
      Attention(q, k, k).mask(mask).bias(bias).expect_reference();
    } else {
      Attention(q, k, k).mask(mask).expect_refusal(FOVEA_MASK_SHAPE);
      Attention(q, k, k).bias(bias).expect_refusal(FOVEA_BIAS_SHAPE);
    }
  }
}

TEST(BugReports, PT_158212_window_pattern_over_three_streams) {
  // t = 1024 scaled to 96. Rows see their residue class in one stream and a window in another; some see nothing.
  constexpr std::int64_t kT = 96, kN = 3 * kT;
  const auto rule = [](auto, auto, std::int64_t i, std::int64_t j) {
    const std::int64_t stream = j / kT, at = j % kT, row = i % kT;
    if (stream == 0) return at <= row && row - at < 4;
    if (stream == 1) return at % 4 == 3 && (at - 4) / 4 < (row - 4) / 4;
    return i / kT == 2 && at == row - 40;
  };
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, kN, kN}).fill(rule);
  mask.slice(2, 100, 9).constant(0);
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_BF16}) {
    const Tensor q = Tensor(dtype, {1, kN, 2, 64}).normal(1), k = Tensor(dtype, {1, kN, 2, 64}).normal(2);
    Attention call(q, k, k);
    call.mask(mask).expect_reference();
    expect_empty_row(call, 0, 1, 104);
  }
}

TEST(BugReports, PT_188322_block_sparsity_is_not_ignored) {
  // Every query sees key block 0 (64 keys) only. All other keys are NaN, so a dense evaluation cannot pass.
  const Tensor q = Tensor(FOVEA_F16, {1, 512, 2, 64}).normal(1), k(FOVEA_F16, {1, 512, 2, 64});
  k.slice(1, 0, 64).normal(2);
  const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 1, 512}).fill([](auto, auto, auto, auto j) { return j < 64; });
  Attention sparse(q, k, k), short_keys(q, k.slice(1, 0, 64), k.slice(1, 0, 64));
  sparse.mask(mask).run();
  short_keys.expect_reference();
  expect_near(sparse.out(), short_keys.out(), 1e-3);
  expect_near(sparse.lse(), short_keys.lse(), 1e-5);
}

TEST(BugReports, PT_182593_full_and_partial_blocks_mean_the_same) {
  // Whether blocks are known to be full (causal flag) or found out from a mask, and wherever pages lie.
  const Tensor q = Tensor(FOVEA_BF16, {1, 256, 2, 64}).normal(1), k = Tensor(FOVEA_BF16, {1, 256, 2, 64}).normal(2);
  Attention flag(q, k, k), mask(q, k, k);
  flag.causal().expect_reference();
  mask.mask(causal_mask({1, 1, 256, 256})).run();
  expect_near(mask.out(), flag.out(), 1e-2);
  Tensor first;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto table = scattered_pages(1, 16, 20, seed);
    Attention paged(q, paged_copy(k, table, 16, 20), paged_copy(k, table, 16, 20));
    paged.pages(table).used_kv({256}).mask(causal_mask({1, 1, 256, 256})).run();
    if (first.absent()) first = paged.out();
    expect_identical(paged.out(), first);
  }
  expect_near(first, flag.out(), 1e-2);
}

TEST(BugReports, PT_136232_mask_longer_than_the_data) {
  // Packed sequences take a mask that reaches past them; a dense call refuses one. Lengths scaled down.
  const Tensor q = Tensor(FOVEA_F32, {90, 4, 64}).normal(1), k = Tensor(FOVEA_F32, {90, 4, 64}).normal(2);
  const Tensor mask = causal_mask({1, 1, 128, 128});
  Attention flag(q, k, k), masked(q, k, k);
  flag.cu_q({0, 30, 90}).cu_kv({0, 30, 90}).causal().expect_reference();
  masked.cu_q({0, 30, 90}).cu_kv({0, 30, 90}).mask(mask).expect_reference();
  expect_near(masked.out(), flag.out(), 1e-5);
  const Tensor dense = Tensor(FOVEA_F32, {1, 90, 4, 64}).normal(1);
  Attention(dense, dense, dense).mask(mask).expect_refusal(FOVEA_MASK_SHAPE);
  Attention(q, k, k).cu_q({0, 30, 90}).cu_kv({0, 30, 90}).mask(mask.slice(3, 0, 59)).expect_refusal(FOVEA_MASK_SHAPE);
}

TEST(BugReports, LUCE_128_no_read_past_the_mask) {
  // The byte after the last mask, bias, key, value and query element faults.
  for (const std::int64_t rows : {1, 26, 27, 28, 29, 30, 31, 32, 63, 64, 95, 96, 128, 160, 192, 224, 256}) {
    SCOPED_TRACE(rows);
    const std::int64_t keys = rows + 3;
    for (const fovea_dtype dtype : {FOVEA_F16, FOVEA_F32}) {
      const auto make = [&](const Shape& shape, std::uint64_t seed) {
        return Tensor::guarded(dtype, shape).normal(seed);
      };
      const Tensor q = make({1, rows, 1, 20}, 1), k = make({1, keys, 1, 20}, 2), v = make({1, keys, 1, 28}, 3);
      const Tensor mask = Tensor::guarded(FOVEA_BOOL, {1, 1, rows, keys}).fill([](auto, auto, auto i, auto j) {
        return (i ^ j) % 3 != 0;
      });
      Attention call(q, k, v);
      call.out_view(Tensor::guarded(dtype, {1, rows, 1, 28}));
      call.mask(mask).bias(make({1, 1, rows, keys}, 4)).expect_reference();
    }
  }
}

}  // namespace
}  // namespace fovea::bugs
