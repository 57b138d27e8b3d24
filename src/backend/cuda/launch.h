// launch: from a loaded kernel to the driver. Nothing is allocated, formatted or locked here; what it costs beyond the
// driver's own launch is asking which context is current.
#pragma once

#include "backend/cuda/kernel.h"

namespace fovea::cuda {

struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;  // CTAs
  unsigned cluster_x = 1;                       // CTAs of a cluster, along x; must divide grid_x
  bool overlap_previous = false;  // programmatic dependent launch: the kernel waits by griddepcontrol.wait
};

// Launches on `stream`, which belongs to `device` (null: its default stream). `params` points to the one parameter
// struct of the kernel, which the driver copies.
inline CUresult launch(Device& device, const CudaKernel& kernel, const LaunchShape& shape, CUstream stream,
                       const void* params) {
  const ContextGuard context(device);
  if (context.result() != CUDA_SUCCESS) return context.result();
  CUlaunchAttribute attributes[2];
  unsigned count = 0;
  if (shape.cluster_x > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {shape.cluster_x, 1, 1};
  }
  if (shape.overlap_previous) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  const CUlaunchConfig config{.gridDimX = shape.grid_x,
                              .gridDimY = shape.grid_y,
                              .gridDimZ = shape.grid_z,
                              .blockDimX = kernel.threads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = kernel.smem_bytes,
                              .hStream = stream,
                              .attrs = attributes,
                              .numAttrs = count};
  void* arguments[] = {const_cast<void*>(params)};
  return device.driver().cuLaunchKernelEx(&config, kernel.function, arguments, nullptr);
}

}  // namespace fovea::cuda
