// Bug reports, section C: views. A call on a view gives, bit for bit, what the call on a packed copy gives; and the
// storage around the view is poison.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

// Runs the call on views and on packed copies, plain and causal.
void expect_views_do_not_matter(const Tensor& q, const Tensor& k, const Tensor& v) {
  for (const bool causal : {false, true}) {
    Attention views(q, k, v), packed(q.packed_copy(), k.packed_copy(), v.packed_copy());
    if (causal) {
      views.causal();
      packed.causal();
    }
    views.expect_reference();
    packed.expect_reference();
    // No GPU kernel takes some of these views. Backends round apart, bf16 between 2 and 4 by 1/64: the copy is compared
    // where the views ran.
    if (views.ran_on_cpu()) packed.run_on_cpu();
    expect_near(views.out(), packed.out(), 1e-2);
  }
}

TEST(BugReports, FA_2665_transposed_views_d256) {
  // [1, 32, 8192, 256] scaled to [1, 4, 96, 256].
  const auto make = [](std::uint64_t seed) { return Tensor(FOVEA_BF16, {1, 4, 96, 256}).normal(seed).transpose(1, 2); };
  expect_views_do_not_matter(make(1), make(2), make(3));
}

TEST(BugReports, FA_355_permuted_output_view) {
  // The report is about dO; forward's counterpart is an output that is a permuted view, between untouched margins.
  const Tensor q = Tensor(FOVEA_F16, {2, 4, 32, 128}).normal(1), k = Tensor(FOVEA_F16, {2, 4, 1, 128}).normal(2);
  const Tensor storage(FOVEA_F16, {2, 32, 6, 130});
  Attention call(q, k, k);
  call.out_view(storage.slice(2, 1, 4).slice(3, 1, 128).transpose(1, 2)).causal().expect_reference();
  storage.visit([&](const Index& i) {
    const bool margin = i[2] < 1 || i[2] > 4 || i[3] < 1 || i[3] > 128;
    EXPECT_EQ(storage.untouched(i), margin);
  });
}

TEST(BugReports, PT_191937_broadcast_kv_length_1_mod_32) {
  for (const std::int64_t keys : {32, 33, 65, 97}) {
    SCOPED_TRACE(keys);
    const Tensor q = Tensor(FOVEA_BF16, {3, 20, 4, 64}).normal(1);
    const Tensor mask =
        Tensor(FOVEA_BOOL, {1, 1, 20, keys}).fill([](auto, auto, auto i, auto j) { return (i + j) % 3 != 0; });
    const Tensor over_batch = Tensor(FOVEA_BF16, {1, keys, 4, 64}).normal(2).expand(0, 3);
    const Tensor over_heads = Tensor(FOVEA_BF16, {3, keys, 1, 64}).normal(3).expand(2, 4);
    const Tensor over_keys = Tensor(FOVEA_BF16, {3, 1, 4, 64}).normal(4).expand(1, keys);
    for (const Tensor& kv : {over_batch, over_heads, over_keys}) {
      Attention(q, kv, kv).mask(mask).expect_reference();
      Attention(q, kv, kv).expect_reference();
    }
  }
}

TEST(BugReports, FA_2777_last_dim_not_contiguous) {
  for (const fovea_dtype dtype : kHalfDtypes) {
    const auto columns = [&](std::int64_t heads, std::uint64_t seed) {  // stored [B, S, D, H]
      return Tensor(dtype, {2, 40, 64, heads}).normal(seed).transpose(2, 3);
    };
    expect_views_do_not_matter(columns(4, 1), columns(2, 2), columns(2, 3));
    const auto steps = [&](std::int64_t heads, std::uint64_t seed) {  // every third element of a poisoned buffer
      return Tensor(dtype, {2, 40, heads, 192}).step(3, 3).normal(seed);
    };
    expect_views_do_not_matter(steps(4, 1), steps(2, 2), steps(2, 3));
    const Tensor q = columns(4, 1).select(0, 0), k = columns(2, 2).select(0, 0);
    Attention(q, k, k).cu_q({0, 13, 40}).cu_kv({0, 20, 40}).causal().expect_reference();
  }
}

TEST(BugReports, FA_2777_negative_strides) {
  const auto backwards = [](std::uint64_t seed) { return Tensor(FOVEA_F32, {2, 30, 2, 16}).normal(seed).reverse(1); };
  expect_views_do_not_matter(backwards(1), backwards(2).reverse(3), backwards(3).reverse(2));
}

TEST(BugReports, SAGE_386_fused_qkv_row_offset_past_2_31) {
  // Row stride 3*56*128 = 21504 elements: rows from 99864 on lie past 2^31 elements. A window keeps the work small
  // while the rows at the end are computed; both layouts of the report are strides here.
  constexpr std::int64_t kRowStride = 21504, kHeads = 2, kDim = 128;
  for (const std::int64_t rows : {98304, 99866}) {  // the last good and the first bad length
    SCOPED_TRACE(rows);
    const Tensor fused = Tensor::sparse(FOVEA_F16, {1, rows, 3 * kHeads, kDim}, {0, kRowStride, 7168, 1});
    fused.slice(1, rows - 40, 40).normal(1);
    const auto part = [&](std::int64_t p) { return fused.slice(2, p * kHeads, kHeads); };
    // The last five rows of q against the last 40 keys, counted from row rows - 40.
    const Tensor k = part(1), v = part(2), q = part(0).slice(1, rows - 5, 5);
    Attention tail(q, k.slice(1, rows - 40, 40), v.slice(1, rows - 40, 40)), whole(q, k, v);
    tail.causal().window_left(20).expect_reference();
    whole.causal().window_left(20).run();
    expect_near(whole.out(), tail.out(), 1e-3);
    expect_near(whole.lse(), tail.lse(), 1e-4);
  }
}

}  // namespace
}  // namespace fovea::bugs
