// The launch of the merge kernel.
#include "backend/cuda/merge.h"

#include "backend/cuda/grid.h"
#include "plan/merge_params.h"

namespace fovea::cuda {

Check run_merge(const MergeOperands& operands, Device& device, Kernels& kernels, CUstream stream) {
  constexpr std::string_view kName = "merge";
  const auto kernel = find_or_make(MergeSpec{}, kName, device, kernels, stream);
  if (!kernel.ok()) return kernel.error();
  return launch_grid(device, *kernel.value(), merge_grid(operands), stream, make_merge_params(operands), kName);
}

}  // namespace fovea::cuda
