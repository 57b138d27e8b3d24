// Bug reports, section J (and the forward half of K): softcap, sinks, and scores far below zero in a tail tile.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(BugReports, FA_2402_softcap_in_any_order) {
  // cap * tanh(s / cap), one cap after the other in one process. Values are large enough for the cap to bite.
  for (const std::int64_t d : {64, 128}) {
    const Tensor q = Tensor(FOVEA_BF16, {1, 100, 2, d}).normal(1, 4),
                 k = Tensor(FOVEA_BF16, {1, 100, 2, d}).normal(2, 4);
    for (const float cap : {15.0F, 30.0F, 0.0F, 15.0F}) {
      SCOPED_TRACE(cap);
      Attention(q, k, k).softcap(cap).expect_reference();
      Attention(q, k, k).softcap(cap).causal().expect_reference();
    }
  }
}

TEST(BugReports, FA_2402_softcap_closed_form) {
  // One key: lse is the capped score itself.
  const Tensor q = Tensor(FOVEA_F32, {1, 1, 1, 1}).constant(5), k = Tensor(FOVEA_F32, {1, 1, 1, 1}).constant(4);
  for (const float cap : {15.0F, 30.0F, 0.0F}) {
    Attention call(q, k, k);
    call.softcap(cap).scale(1).run();
    EXPECT_NEAR(call.lse().at({}), cap == 0 ? 20.0 : cap * std::tanh(20.0 / cap), 1e-5);
  }
  Attention(q, k, k).softcap(-1).expect_refusal(FOVEA_SOFTCAP);
}

TEST(BugReports, FA_2544_softcap_with_varlen) {
  const Tensor q = Tensor(FOVEA_BF16, {190, 4, 128}).normal(1, 3), k = Tensor(FOVEA_BF16, {300, 2, 128}).normal(2, 3);
  Attention(q, k, k).cu_q({0, 128, 140, 190}).cu_kv({0, 217, 250, 300}).softcap(15).expect_reference();
}

TEST(BugReports, FA_1973_rows_that_see_only_the_sink) {
  // A row without a key has out 0 and lse -inf, sink or not; other rows lose the sink's share.
  for (const fovea_dtype dtype : kDtypes) {
    for (const std::int64_t d : {64, 128, 192}) {
      const Tensor q = Tensor(dtype, {1, 128, 4, d}).normal(1), k = Tensor(dtype, {1, 128, 1, d}).normal(2);
      const Tensor sink = Tensor(FOVEA_F32, {4}).fill([](auto h, auto, auto, auto) {
        return h == 3 ? -kInf : 2.0 * static_cast<double>(h) - 1;
      });
      const Tensor mask =
          Tensor(FOVEA_BOOL, {1, 1, 128, 128}).fill([](auto, auto, auto i, auto) { return i % 5 != 2; });
      Attention call(q, k, k);
      call.sink(sink).mask(mask).causal().expect_reference();
      for (std::int64_t h = 0; h < 4; ++h) expect_empty_row(call, 0, h, 7);
    }
  }
}

TEST(BugReports, FA_2102_sink_with_no_keys_at_all) {
  const Tensor q = Tensor(FOVEA_BF16, {2, 3, 2, 64}).normal(1), k = Tensor(FOVEA_BF16, {2, 8, 2, 64}).normal(2);
  const Tensor sink = Tensor(FOVEA_F32, {2}).fill([](auto h, auto, auto, auto) { return h == 0 ? 1.5 : kInf; });
  for (const std::int32_t splits : {1, 3}) {
    Attention call(q, k, k);
    call.sink(sink).used_kv({0, 8}).splits(splits).expect_reference();
    expect_empty_row(call, 0, 0, 1);
    for (std::int64_t d = 0; d < 64; ++d) EXPECT_EQ(call.out().at({1, 0, 1, d}), 0.0);  // sink +inf takes everything
  }
  const Tensor no_keys(FOVEA_BF16, {2, 0, 2, 64});
  Attention(q, no_keys, no_keys).sink(sink).expect_reference();
}

TEST(BugReports, FA_2706_sink_closed_form) {
  // One key: out = v / (1 + exp(sink - score)), lse = score without the sink.
  const Tensor q = Tensor(FOVEA_F32, {1, 1, 2, 1}).constant(1.5), k = Tensor(FOVEA_F32, {1, 1, 2, 1}).constant(2);
  const Tensor sink = Tensor(FOVEA_F32, {2}).fill([](auto h, auto, auto, auto) { return h == 0 ? 3.0 : -200.0; });
  Attention call(q, k, k);
  call.sink(sink).scale(1).run();
  EXPECT_NEAR(call.out().at({}), 1.0, 1e-6);
  EXPECT_NEAR(call.out().at({0, 0, 1, 0}), 2.0, 1e-6);
  EXPECT_NEAR(call.lse().at({}), 3.0, 1e-6);
  Attention(q, k, k).sink(Tensor(FOVEA_F32, {3}).constant(0)).expect_refusal(FOVEA_SINK_SHAPE);
}

TEST(BugReports, PT_196678_scores_near_minus_120_in_a_tail_tile) {
  // All scores about -120, length 64 modulo 128, with a mask. 704 scaled to 192 (bad) with 128 as control.
  for (const std::int64_t n : {192, 128, 704}) {
    SCOPED_TRACE(n);
    const std::int64_t rows = n == 704 ? 40 : n;  // the full key length, its last queries
    const Tensor q = Tensor(FOVEA_BF16, {1, rows, 1, 64}).normal(1, 0.1),
                 k = Tensor(FOVEA_BF16, {1, n, 1, 64}).normal(2, 0.1);
    const Tensor v = Tensor(FOVEA_BF16, {1, n, 1, 64}).normal(3);
    q.slice(3, 0, 1).constant(1);
    k.slice(3, 0, 1).constant(-120 * 8);
    const auto shift = n - rows;
    const Tensor tril =
        Tensor(FOVEA_BOOL, {1, 1, rows, n}).fill([=](auto, auto, auto i, auto j) { return j <= i + shift; });
    Attention masked(q, k, v), flag(q, k, v);
    masked.mask(tril).expect_reference();
    flag.causal().expect_reference();
    Attention(q, k, v).mask(Tensor(FOVEA_BOOL, {1, 1, rows, n}).constant(1)).expect_reference();
    EXPECT_LT(masked.lse().at({0, 0, 0}), -88.0);
  }
}

}  // namespace
}  // namespace fovea::bugs
