// fwd_mma's launch: one linear grid, parameters by value.
#include "backend/cuda/forward.h"

#include "backend/cuda/launch.h"
#include "core/text.h"
#include "plan/fwd_params.h"
#include "select/specs.h"

namespace fovea::cuda {

Result<const CudaKernel*> forward_kernel(const Plan& plan, Device& device, Kernels& kernels, CUstream stream) {
  const FwdSpec& spec = plan.choice.spec;
  if (const CudaKernel* kernel = kernels.find(name(plan.choice.kernel), digest(spec), device.info().ordinal)) {
    return kernel;
  }
  return kernels.get(kernel_source(spec), device, stream);
}

Check run_forward(const Plan& plan, const ForwardOperands& operands, Device& device, const CudaKernel& kernel,
                  CUstream stream) {
  const FwdParams params = make_fwd_params(plan, operands);
  const LaunchShape shape{.grid_x = static_cast<unsigned>(plan.grid)};
  const CUresult result = launch(device, kernel, shape, stream, &params);
  if (result == CUDA_SUCCESS) return {};
  return driver_error(device.driver(), result, cat("launching ", name(plan.choice.kernel), " on ", device.info().name));
}

}  // namespace fovea::cuda
