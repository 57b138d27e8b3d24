// Source, parameters and grid are those of the cuda backend; regions and schedule are the model's own.
#include "backend/model/forward.h"

#include <limits>
#include <vector>

#include "backend/model/regions.h"
#include "core/text.h"
#include "plan/fwd_params.h"
#include "select/fwd_mma.h"
#include "select/specs.h"

namespace fovea::model {

namespace {

LaunchConfig launch_config(const KernelSource& source, std::int64_t grid, const Settings& settings) {
  return {.grid_x = static_cast<u32>(grid),
          .threads = static_cast<u32>(source.threads),
          .smem_bytes = static_cast<u32>(source.smem_bytes),
          .sm = settings.sm,
          .seed = settings.seed,
          .landing = settings.landing,
          .schedule = settings.schedule};
}

}  // namespace

Result<Report> run_forward(const Plan& plan, const ForwardOperands& operands, Modules& modules,
                           const Settings& settings) {
  const SplitParts split = split_parts(plan, operands);
  std::vector<float> parts(split.bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  std::vector<Region> regions = forward_regions(plan.problem, operands);
  if (split.bytes > 0) {
    regions.push_back({.base = parts.data(), .bytes = split.bytes, .writable = true, .name = "split parts"});
  }
  const KernelSource source = kernel_source(plan.choice.spec);
  const Result<Module> module = modules.get(source);
  if (!module.ok()) return module.error();
  const FwdParams params = make_fwd_params(plan, operands, parts.data());
  Report report = launch(launch_config(source, plan.grid, settings), regions, module.value().entry, &params);
  if (split.bytes == 0 || report.fault) return report;

  const KernelSource merging = kernel_source(combine_spec(plan.problem));
  const Result<Module> merge = modules.get(merging);
  if (!merge.ok()) return merge.error();
  const CombineParams combine = make_combine_params(plan, operands, parts.data());
  const Report merged =
      launch(launch_config(merging, split.combine_grid, settings), regions, merge.value().entry, &combine);
  report.fault = merged.fault;
  return report;
}

Error fault_error(const Plan& plan, const Settings& settings, const Fault& fault) {
  return {.status = FOVEA_INTERNAL,
          .asked = cat(name(plan.choice.kernel), " on the model of sm_", settings.sm, ", seed ", settings.seed),
          .allowed = "a kernel without faults",
          .why = cat(to_string(fault.code), ": ", fault.text),
          .hint = "this is a fault of the kernel: please report this message"};
}

}  // namespace fovea::model
