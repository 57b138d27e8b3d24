// Runs a forward plan on a CUDA device: finds or makes its kernels, fills the parameters, launches. Asynchronous.
#pragma once

#include "backend/cuda/kernels.h"
#include "backend/cuda/stream_memory.h"
#include "backend/cuda/tensor_maps.h"
#include "backend/cuda/tile_counters.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::cuda {

struct ForwardKernels {
  const CudaKernel* attention = nullptr;
  const CudaKernel* combine = nullptr;  // null where keys are not split
};

// What kernels work with on the devices of a Context, beside their operands.
struct Scratch {
  explicit Scratch(const Driver& driver) : memory(driver), counters(driver), maps(driver) {}

  StreamMemory memory;
  TileCounters counters;
  TensorMaps maps;
};

// The kernels of a plan on a device, compiled and loaded where they are not yet, and what they need there.
Result<ForwardKernels> forward_kernels(const Plan& plan, Device& device, Kernels& kernels, Scratch& scratch,
                                       CUstream stream);

Check run_forward(const Plan& plan, const ForwardOperands& operands, Device& device, const ForwardKernels& kernels,
                  Scratch& scratch, CUstream stream);

}  // namespace fovea::cuda
