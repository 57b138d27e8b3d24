// What fovea keeps per stream on a device, on a driver that only hands out host memory: tile counters and scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "backend/cuda/stream_memory.h"
#include "backend/cuda/tile_counters.h"

namespace fovea::testing {
namespace {

using namespace cuda;

bool g_memory = true;  // whether the device has any

CUstream stream(std::uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

Driver host_driver() {
  Driver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(std::uintptr_t{16});
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuMemAlloc = [](CUdeviceptr* memory, std::size_t bytes) {
    if (!g_memory) return CUDA_ERROR_OUT_OF_MEMORY;
    void* block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(block, 0xa5, bytes);
    *memory = reinterpret_cast<CUdeviceptr>(block);
    return CUDA_SUCCESS;
  };
  driver.cuMemFree = [](CUdeviceptr memory) {
    std::free(reinterpret_cast<void*>(memory));
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyHtoD = [](CUdeviceptr to, const void* from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuGetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char** text) {
    *text = "out of memory";
    return CUDA_SUCCESS;
  };
  return driver;
}

class StreamState : public ::testing::Test {
 protected:
  Driver driver_ = host_driver();
  Device device_{driver_, 0, DeviceInfo{.ordinal = 0, .name = "a device"}};
};

TEST_F(StreamState, EveryStreamHasCountersOfItsOwnThatStartAtZero) {
  TileCounters counters(driver_);
  EXPECT_EQ(counters.find(device_, stream(64)), nullptr) << "not prepared";
  ASSERT_FALSE(counters.prepare(device_));
  ASSERT_FALSE(counters.prepare(device_)) << "once more changes nothing";
  u32* const first = counters.find(device_, stream(64));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first[0], 0U);
  EXPECT_EQ(first[1], 0U);
  EXPECT_EQ(counters.find(device_, stream(64)), first);
  EXPECT_NE(counters.find(device_, stream(128)), first);
  EXPECT_NE(counters.find(device_, nullptr), first);
}

TEST_F(StreamState, StreamsBeyondTheCountersGetNone) {
  TileCounters counters(driver_);
  ASSERT_FALSE(counters.prepare(device_));
  std::set<u32*> seen;
  for (std::uintptr_t i = 1; i <= TileCounters::kStreams; ++i) seen.insert(counters.find(device_, stream(64 * i)));
  EXPECT_EQ(seen.size(), TileCounters::kStreams);
  EXPECT_EQ(seen.count(nullptr), 0U);
  EXPECT_EQ(counters.find(device_, stream(7)), nullptr);
  EXPECT_NE(counters.find(device_, stream(64)), nullptr) << "those that have theirs keep them";
}

TEST_F(StreamState, CountersThatCannotBeMadeAreAnErrorAndMayBeTriedAgain) {
  TileCounters counters(driver_);
  g_memory = false;
  const Check refused = counters.prepare(device_);
  g_memory = true;
  ASSERT_TRUE(refused);
  EXPECT_EQ(counters.find(device_, nullptr), nullptr);
  EXPECT_FALSE(counters.prepare(device_));
  EXPECT_NE(counters.find(device_, nullptr), nullptr);
}

// The handle of the per-thread default stream is the same in every thread, the stream is not.
TEST_F(StreamState, ThePerThreadStreamIsAnotherInEachThread) {
  TileCounters counters(driver_);
  StreamMemory memory(driver_);
  ASSERT_FALSE(counters.prepare(device_));
  u32* const here = counters.find(device_, per_thread_stream());
  void* const block = memory.reserve(device_, per_thread_stream(), 1000).value();
  std::thread([&] {
    EXPECT_NE(counters.find(device_, per_thread_stream()), here);
    EXPECT_NE(memory.reserve(device_, per_thread_stream(), 1000).value(), block);
    EXPECT_EQ(counters.find(device_, stream(64)), counters.find(device_, stream(64)));
  }).join();
  EXPECT_EQ(counters.find(device_, per_thread_stream()), here);
  EXPECT_EQ(memory.reserve(device_, per_thread_stream(), 1000).value(), block);
  u32* const plain = counters.find(device_, stream(64));
  std::thread([&] { EXPECT_EQ(counters.find(device_, stream(64)), plain); }).join();
}

}  // namespace
}  // namespace fovea::testing
