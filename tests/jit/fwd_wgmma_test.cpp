// fwd_wgmma for sm_90a: what NVRTC makes of it.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "jit/jit.h"
#include "jit/toy.h"
#include "select/fwd_wgmma.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

TEST(FwdWgmmaSource, CompilesWithoutSpillsAndWithoutSerialProducts) {
  ScratchDirectory scratch;
  Jit jit(toy_config(scratch.path() + "/cache"), 0, embedded_bundle());
  FOVEA_NEED_NVRTC(jit);
  for (const fovea_dtype dtype : {FOVEA_BF16, FOVEA_F16}) {
    for (const std::int64_t head_dim : {64, 128}) {
      Problem problem;
      problem.dtype = problem.out_dtype = dtype;
      problem.head_dim_qk = problem.head_dim_v = head_dim;
      const KernelSource source = kernel_source(fwd_wgmma_spec(problem));
      const Target target = parse_target("sm_90a").value();
      const Result<Artifact> made = jit.get(source, target);
      ASSERT_TRUE(made.ok()) << to_string(made.error());
      const Result<std::optional<std::string>> resources = jit.resources(source, target);
      ASSERT_TRUE(resources.ok());
      if (!resources.value()) continue;  // this NVRTC prints none
      EXPECT_NE(resources.value()->find(" 0 bytes spill stores"), std::string::npos) << *resources.value();
      EXPECT_EQ(resources.value()->find("C75"), std::string::npos) << *resources.value();
    }
  }
}

}  // namespace
}  // namespace fovea::testing
