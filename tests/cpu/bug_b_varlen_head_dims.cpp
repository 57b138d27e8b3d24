// Bug reports, section B: packed batches with empty sequences, and head dims off the beaten track.
// Most of these were found in backward passes; here the same shapes go through forward.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

TEST(BugReports, FA_2562_zero_length_queries_d256) {
  // Lengths scaled by 1/8.
  const Tensor q = Tensor(FOVEA_BF16, {256, 4, 256}).normal(1);
  const Tensor k = Tensor(FOVEA_BF16, {1024, 1, 256}), v = Tensor(FOVEA_BF16, {1024, 1, 256});
  for (const Tensor& t : {k, v}) t.slice(0, 317, 323).normal(2);  // the keys of empty query sequences stay NaN
  Attention(q, k, v).cu_q({0, 0, 151, 256, 256}).cu_kv({0, 317, 535, 640, 1024}).expect_reference();
}

TEST(BugReports, FA_2562_zero_length_keys_d256) {
  const Tensor q = Tensor(FOVEA_BF16, {40, 4, 256}).normal(1), k = Tensor(FOVEA_BF16, {50, 1, 256}).normal(2);
  Attention(q, k, k).cu_q({0, 10, 25, 40}).cu_kv({0, 0, 50, 50}).causal().expect_reference();
}

TEST(BugReports, FA_1619_fewer_tokens_than_sequences) {
  const Tensor q = Tensor(FOVEA_BF16, {1, 21, 120}).normal(1), k = Tensor(FOVEA_BF16, {1, 7, 120}).normal(2);
  const Tensor v = Tensor(FOVEA_BF16, {1, 7, 120}).normal(3);
  Attention call(q, k, v);
  call.cu_q({0, 0, 0, 0, 1}).cu_kv({0, 0, 0, 0, 1}).scale(10.954451F).expect_reference();  // sqrt(120)
  call.out().visit([&](const Index& i) { EXPECT_EQ(call.out().at(i), v.at({0, i[1] / 3, i[2]})); });
}

TEST(BugReports, FA_1254_empty_queries_uneven_keys) {
  // 32 heads scaled to 2, 1023 and 2045 rows to 127 and 253.
  const Tensor q = Tensor(FOVEA_BF16, {127, 2, 128}).normal(1), k = Tensor(FOVEA_BF16, {254, 2, 128}).normal(2);
  for (const bool causal : {false, true}) {
    Attention call(q, k, k);
    if (causal) call.causal();
    call.cu_q({0, 0, 0, 127}).cu_kv({0, 0, 1, 254}).expect_reference();
  }
}

TEST(BugReports, FA_VARLEN_PREPROCESS_dirty_workspace) {
  // The same call in a fresh context and in one whose scratch memory is full of another call's NaN.
  const Context fresh, dirty;
  for (const std::int64_t d : {64, 128}) {
    const Tensor q = Tensor(FOVEA_BF16, {405, 2, d}).normal(1), k = Tensor(FOVEA_BF16, {405, 2, d}).normal(2);
    const Tensor nan_rows(FOVEA_BF16, {1, 300, 2, d});
    Attention(nan_rows, nan_rows, nan_rows).on(dirty).splits(3).run();
    Attention first(q, k, k), second(q, k, k);
    first.on(fresh).cu_q({0, 128, 328, 405}).cu_kv({0, 128, 328, 405}).causal().run();
    second.on(dirty).cu_q({0, 128, 328, 405}).cu_kv({0, 128, 328, 405}).causal().expect_reference();
    expect_identical(second.out(), first.out());
    expect_identical(second.lse(), first.lse());
  }
}

TEST(BugReports, FA_2492_head_dims_not_multiples_of_32) {
  // Two sequences of 3600 scaled to 60 and 67 rows, 16 heads to 2; odd and tiny head dims beside the reported ones.
  for (const std::int64_t d : {72, 80, 88, 104, 112, 120, 1, 3, 7, 17, 33, 63, 65, 127, 129, 255}) {
    SCOPED_TRACE(d);
    const Tensor q = Tensor(FOVEA_BF16, {127, 2, d}).normal(1), k = Tensor(FOVEA_BF16, {127, 2, d}).normal(2);
    Attention(q, k, k).cu_q({0, 60, 127}).cu_kv({0, 60, 127}).expect_reference();
  }
}

TEST(BugReports, FA_2087_d192_values_128) {
  // 1024 rows scaled to 96, 128 heads to 4.
  const Tensor q = Tensor(FOVEA_BF16, {1, 96, 4, 192}).normal(1), k = Tensor(FOVEA_BF16, {1, 96, 4, 192}).normal(2);
  const Tensor v = Tensor(FOVEA_BF16, {1, 96, 4, 128}).normal(3);
  Attention(q, k, v).expect_reference();
  Attention(q, k, v).causal().expect_reference();
  Attention(q, v, k.slice(3, 0, 100)).expect_refusal(FOVEA_SHAPE);  // q and k disagree
}

TEST(BugReports, IK_2031_decode_keys_wider_than_values) {
  for (const auto& [d_qk, d_v] : {std::pair<std::int64_t, std::int64_t>{576, 512}, {192, 128}, {64, 200}}) {
    const Tensor q = Tensor(FOVEA_F16, {1, 1, 2, d_qk}).normal(1), k = Tensor(FOVEA_F16, {1, 4096, 1, d_qk}).normal(2);
    const Tensor v = Tensor(FOVEA_F16, {1, 4096, 1, d_v}).normal(3);
    for (const std::int64_t length : {1, 575, 576, 577, 4096}) {
      if (length == 4096 && d_qk == 576) continue;  // the two smaller pairs already cross many blocks
      SCOPED_TRACE(testing::Message() << "d_qk " << d_qk << " length " << length);
      Attention(q, k.slice(1, 0, length), v.slice(1, 0, length)).expect_reference();
    }
  }
}

}  // namespace
}  // namespace fovea::bugs
