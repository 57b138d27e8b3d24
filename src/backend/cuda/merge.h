// Runs a merge on a CUDA device. Asynchronous.
#pragma once

#include "backend/cuda/kernels.h"
#include "plan/merge_operands.h"

namespace fovea::cuda {

// Compiles and loads the kernel at the first call. `operands` has 1 to kMaxMergeParts parts, and rows.
Check run_merge(const MergeOperands& operands, Device& device, Kernels& kernels, CUstream stream);

}  // namespace fovea::cuda
