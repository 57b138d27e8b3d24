// Bug reports, section G (and the dense cases of I and L): paged caches, split-KV, decode with one or a few tokens,
// batch invariance, padded requests, scratch memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

using Table = std::vector<std::vector<std::int32_t>>;

TEST(BugReports, FI_4347_page_size_above_the_tile) {
  // Page sizes 1..1024 and 544 with a ragged last page give what the dense call gives; D 256 scaled to 64 except at
  // 544.
  for (const std::int64_t page : {1, 3, 16, 128, 256, 512, 544, 1024}) {
    SCOPED_TRACE(page);
    const std::int64_t d = page == 544 ? 256 : 64, storage = (1090 + page - 1) / page * page;
    const Tensor q = Tensor(FOVEA_BF16, {2, 3, 4, d}).normal(1), rows(FOVEA_BF16, {2, storage, 2, d});
    rows.slice(1, 0, 1090).normal(2);
    const auto table = scattered_pages(2, storage / page, 2 * storage / page + 1, 7);
    const Tensor pool = paged_copy(rows, table, page, 2 * storage / page + 1);
    Attention paged(q, pool, pool), dense(q, rows, rows);
    dense.used_kv({1090, 700}).causal().run();
    paged.pages(table).used_kv({1090, 700}).causal();
    if (page == 3 || page == 544) paged.expect_reference();
    expect_near(paged.run().out(), dense.out(), 1e-2);
    expect_near(paged.lse(), dense.lse(), 1e-5);
  }
}

TEST(BugReports, FI_3716_non_causal_decode_counts_only_valid_keys) {
  // q = 0: out is the mean of the valid V rows and lse = ln(length).
  const Tensor q = Tensor(FOVEA_BF16, {1, 1, 8, 128}).constant(0), rows(FOVEA_BF16, {1, 304, 8, 128});
  rows.slice(1, 0, 300).normal(2);
  const auto table = scattered_pages(1, 19, 20, 3);
  const Tensor pool = paged_copy(rows, table, 16, 20);
  for (const std::int32_t length : {1, 100, 255, 256, 257, 300}) {
    SCOPED_TRACE(length);
    Attention call(q, pool, pool);
    call.pages(table).used_kv({length}).run();
    for (std::int64_t h = 0; h < 8; ++h) {
      EXPECT_NEAR(call.lse().at({0, h, 0}), std::log(length), 1e-5);
      for (std::int64_t d = 0; d < 128; ++d) {
        double mean = 0;
        for (std::int64_t j = 0; j < length; ++j) mean += rows.at({0, j, h, d}) / length;
        ASSERT_NEAR(call.out().at({0, 0, h, d}), mean, std::abs(mean) / 128 + 1e-6) << h << " " << d;
      }
    }
  }
}

TEST(BugReports, FI_4382_multi_token_decode_identical_requests) {
  // 26,000 keys scaled to 900, D 512 to 128; three requests that share one page table row are equal to the last bit.
  for (const std::int32_t tokens : {5, 6}) {
    SCOPED_TRACE(tokens);
    const Tensor one = Tensor(FOVEA_BF16, {tokens, 8, 128}).normal(1), q(FOVEA_BF16, {3 * tokens, 8, 128});
    q.fill([&](auto t, auto h, auto d, auto) { return one.at({t % tokens, h, d}); });
    const Tensor pool = Tensor(FOVEA_BF16, {60, 16, 1, 128}).normal(2);
    const auto row = scattered_pages(1, 57, 60, 4)[0];
    for (const std::int32_t splits : {0, 4}) {
      Attention call(q, pool, pool);
      call.cu_q({0, tokens, 2 * tokens, 3 * tokens})
          .pages({row, row, row})
          .used_kv({900, 900, 900})
          .causal()
          .splits(splits);
      call.expect_reference();
      for (const std::int64_t b : {1, 2})
        expect_identical(call.out().slice(0, b * tokens, tokens), call.out().slice(0, 0, tokens));
    }
  }
}

TEST(BugReports, FI_3219_scattered_pages_mla) {
  const Tensor q = Tensor(FOVEA_BF16, {2, 1, 4, 576}).normal(1), rows = Tensor(FOVEA_BF16, {2, 64, 1, 576}).normal(2);
  Attention contiguous(q, rows, rows.slice(3, 0, 512));
  contiguous.used_kv({64, 50}).expect_reference();
  Tensor first;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Table table = scattered_pages(2, 4, 30, seed);
    const Tensor pool = paged_copy(rows, table, 16, 30);
    Attention call(q, pool, pool.slice(3, 0, 512));
    call.pages(table).used_kv({64, 50}).run();
    expect_near(call.out(), contiguous.out(), 1e-2);
    if (first.absent()) first = call.out();
    expect_identical(call.out(), first);
  }
}

TEST(BugReports, FA_1417_result_independent_of_allocated_length) {
  // Cache of 262,144 rows, sliced; used 40,960, 106,496 and 172,032 scaled by 1/64, heads 32 to 2.
  const Tensor cache = Tensor::sparse(FOVEA_BF16, {1, 262144, 2, 128}, {0, 32 * 128, 128, 1});
  cache.slice(1, 0, 640).normal(2);
  cache.slice(1, 640, 2048).poison();
  const Tensor q = Tensor(FOVEA_BF16, {1, 1, 4, 128}).normal(1);
  Tensor first;
  for (const std::int64_t allocated : {640, 1664, 2688}) {
    SCOPED_TRACE(allocated);
    const Tensor k = cache.slice(1, 0, allocated);
    Attention plain(q, k, k), invariant(q, k, k);
    plain.used_kv({640}).expect_reference();
    invariant.used_kv({640}).batch_invariant().expect_reference();
    if (first.absent()) first = invariant.out();
    expect_identical(invariant.out(), first);
  }
}

TEST(BugReports, MLA_212_request_alone_or_in_a_batch) {
  // With the batch-invariant flag, request 0 has the same bits alone, among many short ones and in any position.
  const Tensor q = Tensor(FOVEA_BF16, {24, 1, 8, 64}).normal(1), k = Tensor(FOVEA_BF16, {24, 2000, 2, 64});
  k.slice(1, 0, 40).normal(2);
  k.slice(0, 0, 1).normal(3);
  std::vector<std::int32_t> lengths(24, 37);
  lengths[0] = 2000;
  Attention alone(q.slice(0, 0, 1), k.slice(0, 0, 1), k.slice(0, 0, 1)), together(q, k, k),
      last(q.reverse(0), k.reverse(0), k.reverse(0));
  alone.batch_invariant().used_kv({2000}).expect_reference();
  together.batch_invariant().used_kv(lengths).run();
  std::reverse(lengths.begin(), lengths.end());
  last.batch_invariant().used_kv(lengths).run();
  expect_identical(together.out().slice(0, 0, 1), alone.out());
  expect_identical(together.lse().slice(0, 0, 1), alone.lse());
  expect_identical(last.out().slice(0, 23, 1), alone.out());
}

TEST(BugReports, SGL_32902_windows_over_pages_of_many_tokens) {
  // Batch 128 scaled to 3, a prompt of 1000 to 200. Pages of 16 give what pages of 1 give, windows and all.
  const Tensor q = Tensor(FOVEA_BF16, {3, 4, 4, 64}).normal(1), rows = Tensor(FOVEA_BF16, {3, 208, 2, 64}).normal(2);
  for (const std::int64_t left : {15, 16, 17, 63}) {
    SCOPED_TRACE(left);
    std::vector<Tensor> outs;
    for (const std::int64_t page : {1, 16}) {
      const Table table = scattered_pages(3, 208 / page, 3 * 208 / page, 5);
      const Tensor pool = paged_copy(rows, table, page, 3 * 208 / page);
      Attention call(q, pool, pool);
      call.pages(table).used_kv({200, 17, 3}).causal().window_left(left).expect_reference();
      outs.push_back(call.out());
    }
    expect_near(outs[1], outs[0], 1e-2);
  }
}

TEST(BugReports, SGL_5875_empty_cache_dense_mla_decode) {
  // All lengths 0 and a page pool without a page.
  const Tensor q = Tensor(FOVEA_BF16, {16, 1, 16, 576}).normal(1), pool(FOVEA_BF16, {0, 64, 1, 576});
  Attention call(q, pool, pool.slice(3, 0, 512));
  call.pages(Table(16, std::vector<std::int32_t>(1, -1))).used_kv(std::vector<std::int32_t>(16, 0)).run();
  for (std::int64_t b = 0; b < 16; ++b) expect_empty_row(call, b, b, 0);
  Attention(q, pool, pool.slice(3, 0, 512))
      .pages(Table(16, {0}))
      .used_kv(std::vector<std::int32_t>(16, 1))
      .expect_refusal(FOVEA_PAGE_TABLE);
}

TEST(BugReports, MLA_28_long_query_on_a_short_cache) {
  // b1 sq1024 h16 hkv8 kv256, heads scaled to 2 and 1, D to 64.
  const Tensor q = Tensor(FOVEA_BF16, {1, 1024, 2, 64}).normal(1), pool = Tensor(FOVEA_BF16, {4, 64, 1, 64}).normal(2);
  Attention(q, pool, pool).pages({{2, 0, 3, 1}}).used_kv({256}).causal().expect_reference();
}

TEST(BugReports, VLLM_51848_more_query_rows_than_table_rows) {
  // 256 requests of 3 tokens scaled to 20; row r uses table row r / 3 and the causal offset r % 3. Every third page
  // belongs to nobody and is NaN.
  const Tensor q = Tensor(FOVEA_BF16, {20, 3, 8, 576}).normal(1), rows = Tensor(FOVEA_BF16, {20, 32, 1, 576}).normal(2);
  const Table table = scattered_pages(20, 2, 60, 6);
  const Tensor pool = paged_copy(rows, table, 16, 60);
  std::vector<std::int32_t> lengths, offsets = {0};
  for (std::int32_t b = 0; b < 20; ++b) {
    lengths.push_back(b % 32 + 1);
    offsets.push_back(3 * (b + 1));
  }
  Attention dense(q, pool, pool.slice(3, 0, 512)), packed(q.packed_copy().flatten(), pool, pool.slice(3, 0, 512));
  dense.pages(table).used_kv(lengths).causal().expect_reference();
  packed.cu_q(offsets).pages(table).used_kv(lengths).causal().run();
  expect_near(packed.out(), dense.out().flatten(), 1e-2);
}

TEST(BugReports, SGL_1779_padded_requests_of_length_0) {
  // 8 slots, 5 real requests; the padded slots' pages hold NaN.
  const Tensor q = Tensor(FOVEA_BF16, {8, 1, 4, 64}).normal(1), pool(FOVEA_BF16, {8, 16, 2, 64});
  pool.slice(0, 0, 5).normal(2);
  Attention call(q, pool, pool);
  call.pages({{0}, {1}, {2}, {3}, {4}, {7}, {7}, {7}}).used_kv({16, 1, 7, 9, 12, 0, 0, 0}).expect_reference();
  for (std::int64_t b = 5; b < 8; ++b) expect_empty_row(call, b, 3, 0);
}

TEST(BugReports, VLLM_40023_workspace_for_many_splits) {
  // H64 Hkv4, batch 528 scaled to 40, D 256 to 64: many more splits than keys, and a bound on the scratch memory.
  const Context context;
  const Tensor q = Tensor(FOVEA_BF16, {40, 1, 64, 64}).normal(1), k = Tensor(FOVEA_BF16, {40, 20, 4, 64}).normal(2);
  for (const std::int32_t splits : {1, 7, 256}) {
    Attention call(q, k, k);
    call.on(context).splits(splits).expect_reference();
  }
  EXPECT_LT(fovea_context_workspace_bytes(context.get()), 512u << 20u);
  Attention(q, k, k).splits(257).expect_refusal(FOVEA_SPLITS);
}

TEST(BugReports, FI_3857_no_state_between_configurations) {
  // One context through many configurations and back: each call equals the same call in a fresh context.
  const auto configure = [](int n) {
    const std::int64_t d = n == 3 ? 72 : 64;
    const fovea_dtype dtype = n == 5 ? FOVEA_F16 : FOVEA_BF16;
    const Tensor q = Tensor(dtype, {2, 60, 4, d}).normal(1);
    const Tensor all = Tensor(dtype, {2, 200, 2, d}).normal(2), k = n == 4 ? all.slice(0, 0, 1).expand(0, 2) : all;
    Attention call(q, k, k);
    if (n == 1) call.window_left(128);
    if (n == 2) call.window_left(64);
    if (n == 6) call.splits(2);
    if (n == 7) call.splits(4);
    if (n == 8) call.softcap(15);
    return call;
  };
  const Context busy;
  for (const int n : {0, 1, 2, 0, 6, 7, 3, 0, 4, 0, 5, 8, 1, 7, 0}) {
    SCOPED_TRACE(n);
    const Context fresh;
    Attention warm = configure(n), cold = configure(n);
    expect_identical(warm.on(busy).run().out(), cold.on(fresh).run().out());
    expect_identical(warm.lse(), cold.lse());
  }
  for (int n = 0; n < 9; ++n) configure(n).expect_reference();
}

TEST(BugReports, FA_2244_forward_repeats_bit_for_bit) {
  // The report is about gradients; forward's counterpart. B2 S1024 H12 scaled to S 128 H4 and GQA 16/2 to 8/1.
  const Tensor q = Tensor(FOVEA_F16, {2, 128, 8, 64}).normal(1), k = Tensor(FOVEA_F16, {2, 128, 1, 64}).normal(2);
  Attention first(q, k, k);
  first.splits(4).run();
  for (int repeat = 0; repeat < 20; ++repeat) {
    Attention again(q, k, k);
    expect_identical(again.splits(4).run().out(), first.out());
  }
}

}  // namespace
}  // namespace fovea::bugs
