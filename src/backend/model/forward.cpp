// Source, parameters and grid are those of the cuda backend; regions and schedule are the model's own.
#include "backend/model/forward.h"

#include <vector>

#include "backend/model/regions.h"
#include "core/text.h"
#include "plan/fwd_params.h"
#include "select/specs.h"

namespace fovea::model {

Result<Report> run_forward(const Plan& plan, const ForwardOperands& operands, Modules& modules,
                           const Settings& settings) {
  const KernelSource source = kernel_source(plan.choice.spec);
  const Result<Module> module = modules.get(source);
  if (!module.ok()) return module.error();
  const FwdParams params = make_fwd_params(plan, operands);
  const std::vector<Region> regions = forward_regions(plan.problem, operands);
  const LaunchConfig config{.grid_x = static_cast<u32>(plan.grid),
                            .threads = static_cast<u32>(source.threads),
                            .smem_bytes = static_cast<u32>(source.smem_bytes),
                            .sm = settings.sm,
                            .seed = settings.seed,
                            .landing = settings.landing,
                            .schedule = settings.schedule};
  return launch(config, regions, module.value().entry, &params);
}

Error fault_error(const Plan& plan, const Settings& settings, const Fault& fault) {
  return {.status = FOVEA_INTERNAL,
          .asked = cat(name(plan.choice.kernel), " on the model of sm_", settings.sm, ", seed ", settings.seed),
          .allowed = "a kernel without faults",
          .why = cat(to_string(fault.code), ": ", fault.text),
          .hint = "this is a fault of the kernel: please report this message"};
}

}  // namespace fovea::model
