// Runs a forward plan on a CUDA device: finds or makes its kernel, fills the parameters, launches. Asynchronous.
#pragma once

#include "backend/cuda/kernels.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::cuda {

// The kernel of a plan on a device, compiled and loaded where it is not yet.
Result<const CudaKernel*> forward_kernel(const Plan& plan, Device& device, Kernels& kernels, CUstream stream);

Check run_forward(const Plan& plan, const ForwardOperands& operands, Device& device, const CudaKernel& kernel,
                  CUstream stream);

}  // namespace fovea::cuda
