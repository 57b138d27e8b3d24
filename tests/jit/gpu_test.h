// GpuTest: the first GPU with a context, a stream, memory and a Jit, for tests that need a real one; skipped, with the
// reason, where there is no GPU or no NVRTC.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/kernels.h"
#include "jit/toy.h"

namespace fovea::testing {

class GpuTest : public ::testing::Test {
 protected:
  // `bundle` is what the Jit compiles from; `bytes` is the size of memory_.
  GpuTest(Bundle bundle, std::size_t bytes) : bundle_(std::move(bundle)), bytes_(bytes) {}

  // A fixture with more to set up overrides this, calls it first and goes on when ready().
  void SetUp() override {
    Result<cuda::Driver> driver = cuda::load_driver();
    if (!driver.ok()) GTEST_SKIP() << to_string(driver.error());
    driver_ = driver.value();
    Result<std::vector<std::unique_ptr<cuda::Device>>> devices = cuda::open_devices(driver_);
    ASSERT_TRUE(devices.ok()) << to_string(devices.error());
    if (devices.value().empty()) GTEST_SKIP() << "no GPU";
    devices_ = std::move(devices.value());
    jit_.emplace(toy_config(scratch_.path() + "/cache"), driver_.major(), bundle_);
    if (const auto nvrtc = jit_->nvrtc(); !nvrtc.ok()) GTEST_SKIP() << to_string(nvrtc.error());
    kernels_.emplace(driver_, *jit_);
    guard_.emplace(device());
    ASSERT_EQ(guard_->result(), cuda::CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuStreamCreate(&stream_, 1), cuda::CUDA_SUCCESS);  // CU_STREAM_NON_BLOCKING
    ASSERT_EQ(driver_.cuMemAlloc(&memory_, bytes_), cuda::CUDA_SUCCESS);
  }
  void TearDown() override {
    if (memory_ != 0) driver_.cuMemFree(memory_);
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }

  static bool ready() { return !IsSkipped() && !HasFatalFailure(); }
  cuda::Device& device() { return *devices_.front(); }

  // Median host time of one call, in nanoseconds, in batches that the GPU keeps up with.
  template <class Call>
  double median_ns(Call&& call) {
    using Clock = std::chrono::steady_clock;
    constexpr int kBatch = 100;
    std::vector<double> samples;
    for (int batch = 0; batch < 200; ++batch) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < kBatch; ++i) call();
      samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kBatch);
      driver_.cuStreamSynchronize(stream_);
    }
    std::nth_element(samples.begin(), samples.begin() + 100, samples.end());
    return samples[100];
  }

  const Bundle bundle_;
  const std::size_t bytes_;
  ScratchDirectory scratch_;
  cuda::Driver driver_;
  std::vector<std::unique_ptr<cuda::Device>> devices_;
  std::optional<Jit> jit_;
  std::optional<cuda::Kernels> kernels_;
  std::optional<cuda::ContextGuard> guard_;
  cuda::CUstream stream_ = nullptr;
  cuda::CUdeviceptr memory_ = 0;
};

}  // namespace fovea::testing
