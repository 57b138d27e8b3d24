// Biases on the model, those in fwd_wgmma above all: what the grid of kernel cases does not reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "jit/small_call.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

class WgmmaBias : public ::testing::Test {
 protected:
  void run(const Plan& plan, SmallCall& call, int sm) { run(plan, call, model::Settings{.sm = sm}); }
  void run(const Plan& plan, SmallCall& call, model::Settings settings) {
    const Result<model::Report> report = model::run_forward(plan, call.operands, modules_, settings);
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    ASSERT_FALSE(report.value().fault.has_value()) << report.value().fault->text;
  }

  // In column 0 of the rows that see a key whose V has it there; leaves that column out of what is compared next.
  static void expect_infinity_of(SmallCall& call, std::int64_t key) {
    for (std::int64_t row = 0; row < call.num_rows; ++row) {
      EXPECT_EQ(std::isinf(SmallCall::at(call.out, row, 0)), call.sees(row, key)) << row;
      call.out[static_cast<std::size_t>(row * kHeadDim)] = 0;
    }
    for (std::int64_t k = 0; k < call.num_keys; ++k) call.v[static_cast<std::size_t>(k * kHeadDim)] = 0;
  }

 private:
  ScratchDirectory scratch_;
  Jit jit_{toy_config(scratch_.path() + "/cache"), 0, embedded_bundle()};
  model::Modules modules_{jit_};
};

// In fwd_wgmma and in fwd_mma.
class FarBias : public WgmmaBias {
 protected:
  static Plan plan(const SmallCall& call, bool wgmma) { return wgmma ? wgmma_plan_of(call) : plan_of(call, 80); }
  static SmallCall call_with_bias() {
    SmallCall call(140, 264);
    call.add_bias();
    return call;
  }
  static void fill_bias(SmallCall& call, std::int64_t row, std::int64_t first, std::int64_t end, float value) {
    const auto begin = call.bias.begin() + row * call.num_keys;
    std::fill(begin + first, begin + end, f32_to_bf16(value));
  }
  static void expect_same_bits(const SmallCall& a, const SmallCall& b, std::int64_t row) {
    for (std::int64_t d = 0; d < kHeadDim; ++d) {
      const auto at = static_cast<std::size_t>(row * kHeadDim + d);
      EXPECT_EQ(a.out[at], b.out[at]) << row << ", " << d;
    }
  }
  static void expect_mean_of_v(const SmallCall& call, std::int64_t row, std::int64_t first, std::int64_t end) {
    for (std::int64_t d = 0; d < kHeadDim; ++d) {
      double mean = 0;
      for (std::int64_t key = first; key < end; ++key) mean += SmallCall::at(call.v, key, d);
      EXPECT_NEAR(SmallCall::at(call.out, row, d), mean / static_cast<double>(end - first), 0.004) << row << ", " << d;
    }
  }
};

// 192 rows: one buffer, and under these rules warpgroups that hand back a block before or behind their own.
TEST_F(WgmmaBias, ThreeConsumersShareOneBuffer) {
  for (const std::int64_t window : {0, 100}) {
    for (u64 seed = 0; seed < 3; ++seed) {
      SmallCall call(1160, 648);  // seven tiles on three CTAs
      call.add_bias();
      if (seed == 2) call.v[70 * kHeadDim] = 0x7f80;  // Inf: tiles run again
      if (window != 0) call.use_window(window);
      const model::AsyncLanding landing = seed == 0 ? model::AsyncLanding::eager : model::AsyncLanding::lazy;
      run(wgmma_plan_of(call, 192), call, {.sm = 90, .seed = seed, .landing = landing, .schedule = {}});
      if (seed == 2) expect_infinity_of(call, 70);
      EXPECT_LT(call.worst_error(), 0.004) << window;
    }
  }
}

// Rows that begin anywhere: other warps copy them, with a mask those that look at it. Tiles that run again ask once
// more.
TEST_F(WgmmaBias, CopiedRowsArriveUnderEverySchedule) {
  for (const bool masked : {false, true}) {
    for (u64 seed = 0; seed < 3; ++seed) {
      SmallCall call(600, 395);  // five tiles on three CTAs, the last one of 88 rows
      call.add_bias();
      if (masked) call.add_mask(64);
      if (seed == 1) call.v[70 * kHeadDim] = 0x7f80;  // Inf: tiles run again
      if (seed == 2) call.use_window(100);
      const model::AsyncLanding landing = seed % 2 == 0 ? model::AsyncLanding::lazy : model::AsyncLanding::eager;
      run(wgmma_plan_of(call), call, {.sm = 90, .seed = seed, .landing = landing, .schedule = {}});
      if (seed == 1) expect_infinity_of(call, 70);
      EXPECT_LT(call.worst_error(), 0.004) << masked << seed;
    }
  }
}

// One row of bias for all queries, which lies in shared memory once.
TEST_F(WgmmaBias, OneRowServesAllQueries) {
  SmallCall call(200, 264);
  call.add_bias();
  const std::vector<u16> row(call.bias.begin(), call.bias.begin() + call.num_keys);
  for (std::size_t at = 0; at < call.bias.size(); ++at) call.bias[at] = row[at % row.size()];
  call.operands.bias.stride_q = 0, call.operands.bias.rows = 1;
  run(wgmma_plan_of(call), call, 90);
  EXPECT_LT(call.worst_error(), 0.004);
}

// Biases far from 0 are biases: where all keys of a row have the same one, they weigh alike, in every rounding of its
// product with log2(e) and beyond the range of that. Other rows keep their bits.
TEST_F(FarBias, AlikeInARowWeighsAlike) {
  for (const bool wgmma : {true, false}) {
    SmallCall plain = call_with_bias();
    run(plan(plain, wgmma), plain, wgmma ? 90 : 80);
    for (const float far : {-1e9F, -3e9F, -1e10F, -1e30F, -3.3895314e38F, 1e10F, 3.3895314e38F}) {
      SmallCall call = call_with_bias();
      for (const std::int64_t row : {3, 77}) fill_bias(call, row, 0, call.num_keys, far);
      run(plan(call, wgmma), call, wgmma ? 90 : 80);
      for (std::int64_t row = 0; row < call.num_rows; ++row) {
        if (row == 3 || row == 77) {
          expect_mean_of_v(call, row, 0, call.num_keys);
        } else {
          expect_same_bits(call, plain, row);
        }
      }
    }
  }
}

// An additive mask: whole blocks far below what follows count for nothing.
TEST_F(FarBias, HidesWhatIsFarBelowTheRest) {
  for (const bool wgmma : {true, false}) {
    for (const float far : {-1e9F, -3e9F, -1e10F, -1e30F, -3.3895314e38F}) {
      SmallCall call = call_with_bias();
      for (std::int64_t row = 0; row < call.num_rows; ++row) {
        fill_bias(call, row, 0, 60, 0.0F);
        fill_bias(call, row, 60, call.num_keys, far);
      }
      std::fill(call.k.begin(), call.k.end(), u16{0});  // the others weigh alike
      run(plan(call, wgmma), call, wgmma ? 90 : 80);
      for (std::int64_t row = 0; row < call.num_rows; ++row) expect_mean_of_v(call, row, 0, 60);
    }
  }
}

// Contract, section 3: a score of +Inf makes a row of out and its lse NaN.
TEST_F(FarBias, PlusInfinityMakesTheRowAndItsLseNan) {
  for (const bool wgmma : {true, false}) {
    SmallCall call = call_with_bias();
    fill_bias(call, 5, 100, 101, std::numeric_limits<float>::infinity());
    run(plan(call, wgmma), call, wgmma ? 90 : 80);
    for (std::int64_t row = 0; row < call.num_rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      EXPECT_EQ(std::isnan(call.lse[at]), row == 5) << row;
      EXPECT_EQ(std::isnan(SmallCall::at(call.out, row, 0)), row == 5) << row;
    }
  }
}

}  // namespace
}  // namespace fovea::testing
