// The model backend from values to a Report: fwd_mma compiled by the host compiler, run on the model, and compared with
// what the same plan's formula gives; and what the model says when a region is too small.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/model/regions.h"
#include "jit/small_call.h"
#include "jit/toy.h"
#include "plan/fwd_params.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

class ModelForward : public ::testing::Test {
 protected:
  ScratchDirectory scratch_;
  Jit jit_{toy_config(scratch_.path() + "/cache"), 0, embedded_bundle()};
  model::Modules modules_{jit_};
};

TEST_F(ModelForward, ComputesAttentionUnderEveryLandingAndSchedule) {
  for (const int sm : {80, 90}) {
    for (const auto landing : {model::AsyncLanding::eager, model::AsyncLanding::lazy, model::AsyncLanding::random}) {
      SmallCall call;
      const Plan plan = plan_of(call, sm);
      const Result<model::Report> report =
          model::run_forward(plan, call.operands, modules_, {.sm = sm, .seed = 5, .landing = landing, .schedule = {}});
      ASSERT_TRUE(report.ok()) << to_string(report.error());
      ASSERT_FALSE(report.value().fault.has_value()) << report.value().fault->text;
      EXPECT_GT(report.value().counters.mma, 0U);
      for (std::int64_t i = 0; i < kRows; ++i) {
        double sum = 0;
        std::vector<double> out(kHeadDim);
        for (std::int64_t j = 0; j < kKeys; ++j) {
          const double weight = std::exp(call.score(i, j));
          sum += weight;
          for (std::int64_t d = 0; d < kHeadDim; ++d) {
            out[static_cast<std::size_t>(d)] += weight * SmallCall::at(call.v, j, d);
          }
        }
        EXPECT_NEAR(static_cast<double>(call.lse[static_cast<std::size_t>(i)]), std::log(sum), 1e-3) << i;
        for (std::int64_t d = 0; d < kHeadDim; ++d) {
          EXPECT_NEAR(SmallCall::at(call.out, i, d), out[static_cast<std::size_t>(d)] / sum, 4e-3) << i << ", " << d;
        }
      }
    }
  }
}

TEST_F(ModelForward, AFaultOfTheKernelIsReportedByName) {
  SmallCall call;
  const Plan plan = plan_of(call, 80);
  // A stride that leads the kernel out of k.
  Plan wrong = plan;
  wrong.problem.seqlen_kv = kKeys + 1;
  ForwardOperands operands = call.operands;
  operands.k.stride_s = 2 * kHeadDim;
  const std::vector<model::Region> regions = model::forward_regions(plan.problem, call.operands);
  ASSERT_EQ(regions.size(), 5U);
  const Result<model::Module> module = modules_.get(kernel_source(plan.choice.spec));
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  const FwdParams params = make_fwd_params(wrong, operands, nullptr);
  const model::Report report = model::launch({.grid_x = static_cast<u32>(plan.grid),
                                              .threads = static_cast<u32>(plan.choice.spec.threads()),
                                              .smem_bytes = static_cast<u32>(plan.smem_bytes)},
                                             regions, module.value().entry, &params);
  ASSERT_TRUE(report.fault.has_value());
  EXPECT_EQ(report.fault->code, model::Code::out_of_bounds) << report.fault->text;
  const Error error = model::fault_error("fwd_mma", {}, *report.fault);
  EXPECT_NE(error.why.find("out_of_bounds"), std::string::npos) << error.why;
}

TEST(ModelRegions, CoverNegativeAndZeroStrides) {
  SmallCall call;
  call.problem.batch = 2;
  call.operands.q.stride_b = 0;
  call.operands.q.stride_s = -kHeadDim;
  call.operands.q.data = call.q.data() + (kRows - 1) * kHeadDim;
  const std::vector<model::Region> regions = model::forward_regions(call.problem, call.operands);
  EXPECT_EQ(regions[0].base, call.q.data());
  EXPECT_EQ(regions[0].bytes, call.q.size() * sizeof(u16));
  EXPECT_FALSE(regions[0].writable);
  EXPECT_STREQ(regions[3].name, "out");
  EXPECT_TRUE(regions[3].writable);
}

}  // namespace
}  // namespace fovea::testing
