// StreamMemory: scratch memory on CUDA devices, one block per device and stream, so that work on different streams
// never shares one. Blocks grow by being replaced; those they replace stay until the end, because work that is queued,
// or a graph that was captured, may still use them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/device.h"
#include "backend/cuda/stream_key.h"

namespace fovea::cuda {

class StreamMemory {
 public:
  // `driver` and every device must outlive it.
  explicit StreamMemory(const Driver& driver) : driver_(driver) {}
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  // At least `bytes`, aligned to 256. A warm call allocates nothing. An allocation is no part of a capture that is in
  // progress on the stream. A captured graph uses the block of the stream that it was captured on: it must not run at
  // the same time as other calls on that stream.
  Result<void*> reserve(Device& device, CUstream stream, std::uint64_t bytes);

 private:
  struct Block {
    Device* device = nullptr;
    CUdeviceptr memory = 0;
    std::uint64_t bytes = 0;
  };
  void free(const Block& block);

  const Driver& driver_;
  std::mutex mutex_;
  std::map<StreamKey, Block> blocks_;
  std::vector<Block> replaced_;
};

}  // namespace fovea::cuda
