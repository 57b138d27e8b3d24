// One block per device; 128 bytes, a cache line, per stream.
#include "backend/cuda/tile_counters.h"

#include <vector>

#include "core/text.h"

namespace fovea::cuda {
namespace {

constexpr std::size_t kLine = 128;

}  // namespace

TileCounters::~TileCounters() {
  for (const auto& [ordinal, counters] : devices_) {
    const ContextGuard context(*counters.device);
    if (context.result() == CUDA_SUCCESS) driver_.cuMemFree(counters.memory);
  }
}

Check TileCounters::prepare(Device& device) {
  const std::lock_guard lock(mutex_);
  Counters& counters = devices_[device.info().ordinal];
  if (counters.memory != 0) return {};
  const ContextGuard context(device);
  const std::vector<unsigned char> zeros(kStreams * kLine);
  CUdeviceptr memory = 0;
  CUresult result = context.result();
  if (result == CUDA_SUCCESS) result = driver_.cuMemAlloc(&memory, zeros.size());
  if (result == CUDA_SUCCESS) result = driver_.cuMemcpyHtoD(memory, zeros.data(), zeros.size());
  if (result != CUDA_SUCCESS) {
    if (memory != 0) driver_.cuMemFree(memory);
    devices_.erase(device.info().ordinal);
    return driver_error(driver_, result, cat("making tile counters on ", device.info().name));
  }
  counters = {.device = &device, .memory = memory, .streams = 0};
  return {};
}

u32* TileCounters::find(const Device& device, CUstream stream) {
  const std::lock_guard lock(mutex_);
  const auto place = devices_.find(device.info().ordinal);
  if (place == devices_.end()) return nullptr;
  Counters& counters = place->second;
  const auto [entry, added] = streams_.try_emplace(stream_key(device.info().ordinal, stream), counters.streams);
  if (added) {
    if (counters.streams == kStreams) {
      streams_.erase(entry);
      return nullptr;
    }
    ++counters.streams;
  }
  return reinterpret_cast<u32*>(counters.memory + kLine * entry->second);
}

}  // namespace fovea::cuda
