// Blocks are powers of two, so that the replaced ones together are smaller than the one in use.
#include "backend/cuda/stream_memory.h"

#include <bit>

#include "core/text.h"

namespace fovea::cuda {

StreamMemory::~StreamMemory() {
  for (const Block& block : replaced_) free(block);
  for (const auto& [key, block] : blocks_) free(block);
}

void StreamMemory::free(const Block& block) {
  if (block.memory == 0) return;
  const ContextGuard context(*block.device);
  if (context.result() == CUDA_SUCCESS) driver_.cuMemFree(block.memory);
}

Result<void*> StreamMemory::reserve(Device& device, CUstream stream, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Block& block = blocks_[stream_key(device.info().ordinal, stream)];
  if (bytes > block.bytes) {
    const ContextGuard context(device);
    const std::uint64_t rounded = std::bit_ceil(bytes);
    CUdeviceptr memory = 0;
    CUresult result = context.result();
    if (result == CUDA_SUCCESS) {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;  // an allocation would end a capture of this thread
      driver_.cuThreadExchangeStreamCaptureMode(&mode);
      result = driver_.cuMemAlloc(&memory, rounded);
      driver_.cuThreadExchangeStreamCaptureMode(&mode);
    }
    if (result != CUDA_SUCCESS) {
      return Error{.status = FOVEA_OUT_OF_MEMORY,
                   .asked = cat(rounded, " bytes on ", device.info().name, " for the parts of split keys"),
                   .allowed = "what the device has free",
                   .why = to_string(driver_error(driver_, result, "cuMemAlloc")),
                   .hint = "free memory on the device, or ask for num_splits = 1"};
    }
    if (block.memory != 0) replaced_.push_back(block);
    block = {&device, memory, rounded};
  }
  return reinterpret_cast<void*>(block.memory);
}

}  // namespace fovea::cuda
