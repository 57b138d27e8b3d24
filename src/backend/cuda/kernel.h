// CudaKernel: a cubin that the driver has loaded, ready to be launched on one device.
#pragma once

#include "backend/cuda/device.h"
#include "jit/bytes.h"
#include "jit/kernel_source.h"

namespace fovea::cuda {

struct CudaKernel {
  CUfunction function = nullptr;  // a CUkernel: valid in every context of the device
  CUlibrary library = nullptr;    // unloaded by whoever owns the kernel
  unsigned threads = 0;           // per CTA
  unsigned smem_bytes = 0;        // dynamic, per CTA
  int registers = 0;              // per thread
  int local_bytes = 0;            // per thread: spills and stack
};

// Loads `cubin` and allows its dynamic shared memory. Must not be called for a stream that is being captured; captures
// of other threads are not disturbed.
Result<CudaKernel> load_kernel(Device& device, const KernelSource& source, const Bytes& cubin);

}  // namespace fovea::cuda
