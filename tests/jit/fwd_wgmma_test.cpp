// fwd_wgmma for sm_90a: what NVRTC makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "jit/toy.h"
#include "select/fwd_wgmma.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

// Of ptxas's report.
int spilled_bytes(const std::string& report) {
  std::smatch found;
  return std::regex_search(report, found, std::regex("([0-9]+) bytes spill stores")) ? std::stoi(found[1]) : -1;
}

class FwdWgmmaSource : public ::testing::TestWithParam<bool> {};  // with mask or bias: two halves, for two cores

// Three consumers leave 160 registers to each and 32 to the producer, wide heads 40 to the producer: some words spill.
// Biases of head dim 128 spill some behind the step loop (42, with a mask 114, copied 94 bytes when this was written),
// which has none: tests/isa/test_main_loop.py.
TEST_P(FwdWgmmaSource, CompilesWithoutSerialProductsAndTwoConsumersWithoutSpills) {
  ScratchDirectory scratch;
  Jit jit(toy_config(scratch.path() + "/cache"), 0, embedded_bundle());
  FOVEA_NEED_NVRTC(jit);
  const Target target = parse_target("sm_90a").value();
  std::vector<FwdSpec> specs = standard_fwd_wgmma_specs(90);
  FwdSpec narrow_v = *std::find_if(specs.begin(), specs.end(), [](const FwdSpec& s) { return s.head_dim_qk == 192; });
  narrow_v.head_dim_v = narrow_v.tile_n = 128;
  specs.push_back(narrow_v);
  for (const FwdSpec& spec : specs) {
    if (spec.views() != GetParam()) continue;
    if (spec.element != Element::bf16 || spec.loads == Loads::paged) continue;  // the rest differs little
    const KernelSource source = kernel_source(spec);
    const Result<std::optional<std::string>> resources = jit.resources(source, target);  // compiles it
    ASSERT_TRUE(resources.ok()) << to_string(resources.error());
    if (!resources.value()) continue;  // this NVRTC prints none
    EXPECT_EQ(resources.value()->find("C75"), std::string::npos) << *resources.value();
    if (spec.tile_m == 192 || spec.head_dim_v > 128) continue;
    const int spilled = spilled_bytes(*resources.value());
    EXPECT_GE(spilled, 0) << *resources.value();
    EXPECT_LE(spilled, spec.bias_tiles && spec.head_dim_v == 128 ? 128 : 0) << *resources.value();
  }
}

INSTANTIATE_TEST_SUITE_P(Views, FwdWgmmaSource, ::testing::Bool());

}  // namespace
}  // namespace fovea::testing
