// fwd_wgmma for sm_90a: what NVRTC makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "jit/toy.h"
#include "select/fwd_wgmma.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

// Three consumers leave 160 registers to each and 32 to the producer, wide heads 40 to the producer: some words spill.
TEST(FwdWgmmaSource, CompilesWithoutSerialProductsAndTwoConsumersWithoutSpills) {
  ScratchDirectory scratch;
  Jit jit(toy_config(scratch.path() + "/cache"), 0, embedded_bundle());
  FOVEA_NEED_NVRTC(jit);
  const Target target = parse_target("sm_90a").value();
  std::vector<FwdSpec> specs = standard_fwd_wgmma_specs(90);
  FwdSpec narrow_v = *std::find_if(specs.begin(), specs.end(), [](const FwdSpec& s) { return s.head_dim_qk == 192; });
  narrow_v.head_dim_v = narrow_v.tile_n = 128;
  specs.push_back(narrow_v);
  for (const FwdSpec& spec : specs) {
    if (spec.element != Element::bf16 || spec.loads == Loads::paged) continue;  // the rest differs little
    const KernelSource source = kernel_source(spec);
    const Result<std::optional<std::string>> resources = jit.resources(source, target);  // compiles it
    ASSERT_TRUE(resources.ok()) << to_string(resources.error());
    if (!resources.value()) continue;  // this NVRTC prints none
    EXPECT_EQ(resources.value()->find("C75"), std::string::npos) << *resources.value();
    if (spec.tile_m == 192 || spec.head_dim_v > 128) continue;
    EXPECT_NE(resources.value()->find(" 0 bytes spill stores"), std::string::npos) << *resources.value();
  }
}

}  // namespace
}  // namespace fovea::testing
