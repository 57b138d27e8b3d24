// The launch of the merge kernel.
#include "backend/cuda/merge.h"

#include "backend/cuda/launch.h"
#include "core/text.h"
#include "plan/merge_params.h"
#include "select/specs.h"

namespace fovea::cuda {

Check run_merge(const MergeOperands& operands, Device& device, Kernels& kernels, CUstream stream) {
  const CudaKernel* kernel = kernels.find("merge", digest(MergeSpec{}), device.info().ordinal);
  if (kernel == nullptr) {
    const Result<const CudaKernel*> made = kernels.get(kernel_source(MergeSpec{}), device, stream);
    if (!made.ok()) return made.error();
    kernel = made.value();
  }
  const MergeParams params = make_merge_params(operands);
  const LaunchShape shape{.grid_x = static_cast<unsigned>(merge_grid(operands))};
  const CUresult result = launch(device, *kernel, shape, stream, &params);
  if (result == CUDA_SUCCESS) return {};
  return driver_error(device.driver(), result, cat("launching merge on ", device.info().name));
}

}  // namespace fovea::cuda
