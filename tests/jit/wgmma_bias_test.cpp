// Biases in fwd_wgmma on the model: what the grid of kernel cases does not reach.
#include <gtest/gtest.h>

#include <string>

#include "jit/small_call.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

class WgmmaBias : public ::testing::Test {
 protected:
  void run(const Plan& plan, SmallCall& call, model::Settings settings) {
    settings.sm = 90;
    const Result<model::Report> report = model::run_forward(plan, call.operands, modules_, settings);
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    ASSERT_FALSE(report.value().fault.has_value()) << report.value().fault->text;
  }

 private:
  ScratchDirectory scratch_;
  Jit jit_{toy_config(scratch_.path() + "/cache"), 0, embedded_bundle()};
  model::Modules modules_{jit_};
};

// 192 rows: one buffer, and under these rules warpgroups that hand back a block before or behind their own.
TEST_F(WgmmaBias, ThreeConsumersShareOneBuffer) {
  for (const std::int64_t window : {0, 100}) {
    for (u64 seed = 0; seed < 3; ++seed) {
      SmallCall call(520, 648);
      call.add_bias();
      if (window != 0) call.use_window(window);
      const model::AsyncLanding landing = seed == 0 ? model::AsyncLanding::eager : model::AsyncLanding::lazy;
      run(wgmma_plan_of(call, 192), call, {.seed = seed, .landing = landing, .schedule = {}});
      EXPECT_LT(call.worst_error(), 0.004) << window;
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
  run(wgmma_plan_of(call), call, {});
  EXPECT_LT(call.worst_error(), 0.004);
}

// The lowest finite bias is a bias: where all keys have it they weigh alike, although its product with log2(e) is out
// of range. Other rows keep their bits.
TEST_F(WgmmaBias, LowestFiniteBiasesWeighAlike) {
  SmallCall plain(140, 264);
  plain.add_bias();
  run(wgmma_plan_of(plain), plain, {});
  SmallCall call(140, 264);
  call.add_bias();
  for (const std::int64_t row : {3, 77}) {
    for (std::int64_t key = 0; key < call.num_keys; ++key) {
      call.bias[static_cast<std::size_t>(row * call.num_keys + key)] = 0xff7f;
    }
  }
  run(wgmma_plan_of(call), call, {});
  for (std::int64_t row = 0; row < call.num_rows; ++row) {
    for (std::int64_t d = 0; d < kHeadDim; ++d) {
      const auto at = static_cast<std::size_t>(row * kHeadDim + d);
      if (row != 3 && row != 77) {
        EXPECT_EQ(call.out[at], plain.out[at]) << row << ", " << d;
        continue;
      }
      double mean = 0;
      for (std::int64_t key = 0; key < call.num_keys; ++key) mean += SmallCall::at(call.v, key, d);
      EXPECT_NEAR(SmallCall::at(call.out, row, d), mean / static_cast<double>(call.num_keys), 0.004)
          << row << ", " << d;
    }
  }
}

}  // namespace
}  // namespace fovea::testing
