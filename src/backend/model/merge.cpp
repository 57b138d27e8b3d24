// The merge kernel on the model, with its operands as regions.
#include "backend/model/merge.h"

#include "backend/model/regions.h"
#include "plan/merge_params.h"
#include "select/specs.h"

namespace fovea::model {

Result<Report> run_merge(const MergeOperands& operands, Modules& modules, const Settings& settings) {
  const KernelSource source = kernel_source(MergeSpec{});
  const Result<Module> module = modules.get(source);
  if (!module.ok()) return module.error();
  const MergeParams params = make_merge_params(operands);
  return launch(launch_config(source, merge_grid(operands), settings), merge_regions(operands), module.value().entry,
                &params);
}

}  // namespace fovea::model
