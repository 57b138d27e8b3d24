// From specs to sources, and the lists of all families.
#include "select/specs.h"

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"

namespace fovea {

KernelSource kernel_source(const FwdSpec& spec) {
  const bool wgmma = spec.family == Family::wgmma;
  return {.header = wgmma ? "kernels/fwd_wgmma.h" : "kernels/fwd_mma.h",
          .spec_expr = to_cpp(spec),
          .spec_type = "fovea::FwdSpec",
          .params_type = wgmma ? "fovea::FwdWgmmaParams" : "fovea::FwdParams",
          .kernel = wgmma ? "fwd_wgmma" : "fwd_mma",
          .digest = digest(spec),
          .smem_bytes = static_cast<int>(plan_smem(spec).bytes),
          .threads = spec.threads(),
          .min_ctas = spec.min_ctas};
}

KernelSource kernel_source(const CombineSpec& spec) {
  return {.header = "kernels/combine.h",
          .spec_expr = to_cpp(spec),
          .spec_type = "fovea::CombineSpec",
          .params_type = "fovea::CombineParams",
          .kernel = "combine",
          .digest = digest(spec),
          .smem_bytes = 0,
          .threads = kCombineThreads,
          .min_ctas = 1};
}

KernelSource kernel_source(const MergeSpec& spec) {
  return {.header = "kernels/merge.h",
          .spec_expr = "{}",
          .spec_type = "fovea::MergeSpec",
          .params_type = "fovea::MergeParams",
          .kernel = "merge",
          .digest = digest(spec),
          .smem_bytes = 0,
          .threads = kMergeThreads,
          .min_ctas = 1};
}

std::vector<KernelSource> standard_specs(int sm) {
  std::vector<KernelSource> sources;
  for (const FwdSpec& spec : standard_fwd_wgmma_specs(sm)) sources.push_back(kernel_source(spec));
  for (const FwdSpec& spec : standard_fwd_mma_specs(sm)) sources.push_back(kernel_source(spec));
  sources.push_back(kernel_source(CombineSpec{.out = Element::bf16}));
  sources.push_back(kernel_source(MergeSpec{}));
  return sources;
}

}  // namespace fovea
