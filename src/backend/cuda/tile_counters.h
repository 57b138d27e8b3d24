// TileCounters: the words by which the CTAs of a persistent kernel share its tiles, two per device and stream. A kernel
// finds zeros and leaves zeros. As with StreamMemory, a captured graph uses those of the stream that it was captured
// on: it must not run at the same time as other calls on that stream.
#pragma once

#include <map>
#include <mutex>

#include "backend/cuda/device.h"
#include "backend/cuda/stream_key.h"
#include "device/base/types.h"

namespace fovea::cuda {

class TileCounters {
 public:
  static constexpr std::uint32_t kStreams = 1024;  // per device

  // `driver` and every device must outlive it.
  explicit TileCounters(const Driver& driver) : driver_(driver) {}
  ~TileCounters();
  TileCounters(const TileCounters&) = delete;
  TileCounters& operator=(const TileCounters&) = delete;

  // Allocates a device's counters, once. Not while a stream is being captured.
  Check prepare(Device& device);
  // Null without prepare(), and for the streams of a device that come after the first kStreams: their tiles are dealt
  // out in turn.
  u32* find(const Device& device, CUstream stream);

 private:
  struct Counters {
    Device* device = nullptr;
    CUdeviceptr memory = 0;
    std::uint32_t streams = 0;  // that have theirs
  };

  const Driver& driver_;
  std::mutex mutex_;
  std::map<int, Counters> devices_;
  std::map<StreamKey, std::uint32_t> streams_;
};

}  // namespace fovea::cuda
