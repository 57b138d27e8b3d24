// Bug reports, section F: offsets past 2^31 elements or bytes, more than 65,535 of something, and very long sequences.
// Buffers are address space with few pages touched: the extents are the reports' own, the memory is a few megabytes.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

TEST(BugReports, PT_150054_mask_past_2_31_scores) {
  // bool mask [S, S], S = 49,999: its last rows lie past 2^31 elements. 46,340 is the passing control. 8 heads scaled
  // to 1, D 64 to 8, the queries to four: the mask's first row, two between, and one at its end.
  for (const std::int64_t n : {46340, 49999}) {
    SCOPED_TRACE(n);
    const Tensor mask = Tensor::sparse(FOVEA_BOOL, {1, 1, n, n}, {0, 0, n, 1}).step(2, (n - 1) / 3);
    ASSERT_EQ(mask.size(2), 4);
    mask.slice(3, 0, 3).constant(1);
    mask.slice(3, n - 50, 50).fill([](auto, auto, auto i, auto j) { return (i + j) % 2 == 0; });
    const Tensor q = Tensor(FOVEA_BF16, {1, 4, 1, 8}).normal(1), k = Tensor(FOVEA_BF16, {1, n, 1, 8}).normal(2);
    Attention(q, k, k).mask(mask).expect_reference();
  }
}

TEST(BugReports, FA_2260_many_tiny_sequences) {
  // One key per sequence: out is V, exactly; and no buffer is padded per sequence.
  const Context context;
  constexpr std::int32_t kBatch = 8300;
  const Tensor q = Tensor(FOVEA_BF16, {1, 1, 16, 128}).normal(1).expand(0, kBatch).select(1, 0);
  const Tensor v =
      Tensor(FOVEA_BF16, {kBatch, 1, 128}).fill([](auto b, auto, auto d, auto) { return (b * 131 + d) % 251; });
  std::vector<std::int32_t> offsets;
  for (std::int32_t b = 0; b <= kBatch; ++b) offsets.push_back(b);
  Attention call(q, v.expand(1, 16), v.expand(1, 16));
  call.on(context).cu_q(offsets).cu_kv(offsets).scale(0.001F).run();
  std::int64_t bad = 0;
  call.out().slice(1, 3, 2).visit([&](const Index& i) {
    bad += call.out().slice(1, 3, 2).at(i) == v.at({i[0], 0, i[2]}) ? 0 : 1;
  });
  EXPECT_EQ(bad, 0);
  EXPECT_LT(fovea_context_workspace_bytes(context.get()), 64u << 20u);
}

TEST(BugReports, PT_142228_batch_past_65535) {
  // [65536, 8, 4, 64] scaled to [65536, 2, 1, 8]; 65535 is the passing control.
  for (const std::int64_t batch : {65535, 65536}) {
    const Tensor q = Tensor(FOVEA_F16, {1, 2, 1, 8}).normal(1).expand(0, batch);
    const Tensor k = Tensor(FOVEA_F16, {1, 2, 1, 8}).normal(2).expand(0, batch);
    const Tensor v = Tensor(FOVEA_F16, {batch, 2, 1, 8}).fill([](auto b, auto s, auto, auto) { return b % 1000 + s; });
    Attention call(q, k, v);
    call.causal().run();
    std::int64_t bad = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      bad += call.out().at({b, 0, 0, 5}) == v.at({b, 0, 0, 5}) ? 0 : 1;  // row 0 sees one key
      bad += std::abs(call.out().at({b, 1, 0, 7}) - v.at({b, 0, 0, 7})) <= 1.0 ? 0 : 1;
    }
    EXPECT_EQ(bad, 0);
  }
}

TEST(BugReports, PT_146704_heads_past_65535) {
  // fp32 [1, 65536, 10, 16] (heads first) with 10 rows scaled to 2.
  constexpr std::int64_t kHeads = 65536;
  const auto make = [](std::uint64_t seed) {
    return Tensor(FOVEA_F32, {1, kHeads, 2, 4}).normal(seed).transpose(1, 2);
  };
  Attention(make(1), make(2), make(3)).expect_reference();
}

TEST(BugReports, XF_845_rows_past_64_times_65535) {
  // fp32 [1, 1, 64*65535+1, 16] scaled to D 2, all queries against two equal keys: out is their mean.
  constexpr std::int64_t kRows = 64 * 65535 + 1;
  const Tensor q = Tensor(FOVEA_F32, {1, 1, 1, 2}).normal(1).expand(1, kRows);
  const Tensor k = Tensor(FOVEA_F32, {1, 1, 1, 2}).normal(2).expand(1, 2);
  const Tensor v = Tensor(FOVEA_F32, {1, 2, 1, 2}).fill([](auto, auto j, auto, auto d) { return 4 * j + d; });
  Attention call(q, k, v);
  call.run();
  const auto* out = static_cast<const float*>(call.out().view().data);
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < kRows; ++i) bad += out[2 * i] == 2.0F && out[2 * i + 1] == 3.0F ? 0 : 1;
  EXPECT_EQ(bad, 0);
  EXPECT_FALSE(call.lse().untouched({0, 0, kRows - 1, 0}));
}

TEST(BugReports, XF_788_bias_batch_stride_past_2_31) {
  // Dense bias [32, 12180, 12184][..., :12180] of two batches and 16 heads: batch stride 2.37e9 elements. Heads scaled
  // to the first and the last, the queries to the last three rows, D to 16.
  constexpr std::int64_t kS = 12180, kRow = 12184, kHead = kS * kRow;
  const Tensor bias =
      Tensor::sparse(FOVEA_F16, {2, 2, kS, kS}, {16 * kHead, 15 * kHead, kRow, 1}).slice(2, kS - 3, 3).normal(3);
  const Tensor q = Tensor(FOVEA_F16, {2, 3, 2, 16}).normal(1), k = Tensor(FOVEA_F16, {2, kS, 1, 16}).normal(2);
  Attention(q, k, k).bias(bias).expect_reference();
}

TEST(BugReports, PT_107959_dense_bias_of_2_31_elements) {
  // [1, 32, 8192, 8192]: element 2^31 - 1 is the last, 4 GiB from the first. Heads scaled to the first and the last,
  // the queries to three rows spread over the bias, D to 16.
  constexpr std::int64_t kS = 8192;
  const Tensor all = Tensor::sparse(FOVEA_BF16, {1, 32, kS, kS}, {32 * kS * kS, kS * kS, kS, 1});
  const Tensor bias = all.step(1, 31).step(2, 4095).normal(3);
  const Tensor q = Tensor(FOVEA_BF16, {1, 3, 2, 16}).normal(1), k = Tensor(FOVEA_BF16, {1, kS, 1, 16}).normal(2);
  Attention(q, k, k).bias(bias).expect_reference();
}

TEST(BugReports, VLLM_50427_interleaved_pool_past_2_31) {
  // Pool (N, 2, 16, Hkv 8, D 128): block 65,536 starts at element 2^31; 65,535 is the passing control.
  constexpr std::int64_t kBlocks = 65537, kSlot = 8 * 128, kBlock = 2 * 16 * kSlot;
  const Tensor pool = Tensor::sparse(FOVEA_BF16, {kBlocks, 32, 8, 128}, {kBlock, kSlot, 128, 1});
  const Tensor keys = pool.slice(1, 0, 16), values = pool.slice(1, 16, 16);
  for (const std::int64_t id : {3, 65535, 65536}) {
    keys.slice(0, id, 1).normal(static_cast<std::uint64_t>(id % 2));  // 3 and 65535 hold the same rows
    values.slice(0, id, 1).normal(static_cast<std::uint64_t>(10 + id % 2));
  }
  const Tensor q = Tensor(FOVEA_BF16, {1, 2, 8, 128}).normal(1);
  for (const auto& table : std::vector<std::vector<std::int32_t>>{{3}, {65535}, {65536}, {65536, 3}, {65535, 65536}})
    Attention(q, keys, values)
        .pages({table})
        .used_kv({static_cast<std::int32_t>(16 * table.size()) - 5})
        .expect_reference();
  Attention low(q, keys, values), high(q, keys, values);
  low.pages({{3, 65536}}).used_kv({30}).run();
  high.pages({{65535, 65536}}).used_kv({30}).run();
  expect_identical(high.out(), low.out());
  Attention(q, keys, values).pages({{65537}}).used_kv({9}).expect_refusal(FOVEA_PAGE_TABLE);
  Attention(q, keys, values).pages({{-1}}).used_kv({9}).expect_refusal(FOVEA_PAGE_TABLE);
}

TEST(BugReports, B12X_45_large_page_stride) {
  // One record per page for all layers: page strides 1,077,120 and 1,039,680 bytes. Ids 1993/1994 straddle 2^31 bytes,
  // 2065/2066 for the second stride; twice those ids straddle 2^31 elements of bf16.
  for (const std::int64_t bytes : {1077120, 1039680}) {
    SCOPED_TRACE(bytes);
    const Tensor pool = Tensor::sparse(FOVEA_BF16, {4136, 4, 1, 64}, {bytes / 2, 64, 64, 1});
    const std::vector<std::int32_t> table = {1993, 1994, 2065, 2066, 3987, 3988, 4131, 4132, 5};
    for (const std::int32_t id : table) pool.slice(0, id, 1).normal(static_cast<std::uint64_t>(id));
    const Tensor q = Tensor(FOVEA_BF16, {1, 3, 2, 64}).normal(1);
    Attention(q, pool, pool).pages({table}).used_kv({35}).causal().expect_reference();
    Attention(q, pool, pool).pages({table}).used_kv({35}).splits(5).expect_reference();
  }
}

TEST(BugReports, SAGE_388_long_video_sequence) {
  // 160,001 keys, one sampled head; 56 heads of 73,774 rows are a row stride here. D 128 scaled to 16.
  constexpr std::int64_t kKeys = 160001;
  const Tensor q = Tensor(FOVEA_BF16, {1, 2, 1, 16}).normal(1), k = Tensor(FOVEA_BF16, {1, kKeys, 1, 16}).normal(2);
  Attention(q, k, k).expect_reference();
  Attention(q, k, k).causal().splits(7).expect_reference();
}

TEST(BugReports, SAGE_382_heads_of_73774_rows) {
  // [1, 56, 73774, 128] heads first. The first and the last head, the whole length of keys under a window.
  constexpr std::int64_t kRows = 73774, kDim = 128;
  const Tensor all = Tensor::sparse(FOVEA_BF16, {1, 56, kRows, kDim}, {0, kRows * kDim, kDim, 1}).transpose(1, 2);
  const Tensor heads = all.step(2, 55), tail = heads.slice(1, kRows - 30, 30).normal(1);
  const Tensor q = heads.slice(1, kRows - 4, 4);
  Attention whole(q, heads, heads), near(q, tail, tail);
  whole.window(20, 0).run();
  near.window(20, 0).expect_reference();
  expect_near(whole.out(), near.out(), 1e-2);
}

TEST(BugReports, Overflow_63_bit_strides_are_refused) {
  // Offsets that do not fit 63 bits are refused, not wrapped; the largest legal stride of an unused dimension is fine.
  const Tensor q = Tensor(FOVEA_F32, {1, 2, 1, 8}).normal(1), k = Tensor(FOVEA_F32, {1, 3, 1, 8}).normal(2);
  const std::int64_t huge = std::int64_t{1} << 61;
  for (const auto member : {&fovea_forward_args::q, &fovea_forward_args::k, &fovea_forward_args::v}) {
    Attention bad(q, k, k);
    bad.stride(member, 1, 4 * (huge - 1) + 3).expect_refusal(FOVEA_STRIDE_OVERFLOW);
    bad.stride(member, 1, 8).expect_reference();
    bad.stride(member, 0, huge).expect_reference();  // extent 1: never multiplied by more than 0
  }
}

}  // namespace
}  // namespace fovea::bugs
