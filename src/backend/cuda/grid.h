// The two steps of every call on a CUDA device: find its kernel, launch a linear grid of it.
#pragma once

#include <string_view>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "core/text.h"
#include "select/specs.h"

namespace fovea::cuda {

// The kernel of a spec, compiled and loaded when it is not yet.
template <class Spec>
Result<const CudaKernel*> find_or_make(const Spec& spec, std::string_view name, Device& device, Kernels& kernels,
                                       CUstream stream) {
  if (const CudaKernel* kernel = kernels.find(name, digest(spec), device.info().ordinal)) return kernel;
  return kernels.get(kernel_source(spec), device, stream);
}

template <class Params>
Check launch_grid(Device& device, const CudaKernel& kernel, std::int64_t grid, CUstream stream, const Params& params,
                  std::string_view name) {
  const LaunchShape shape{.grid_x = static_cast<unsigned>(grid)};
  const CUresult result = launch(device, kernel, shape, stream, &params);
  if (result == CUDA_SUCCESS) return {};
  return driver_error(device.driver(), result, cat("launching ", name, " on ", device.info().name));
}

}  // namespace fovea::cuda
