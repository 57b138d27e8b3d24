// Loading and launching on a real GPU: results, contexts, captures, and what a launch costs beyond the driver's own.
// Skipped, with the reason, where there is no GPU or no NVRTC.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "core/text.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

using namespace cuda;

struct ToyParams {
  CUdeviceptr out;
  int count;
};

class GpuLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Driver> driver = load_driver();
    if (!driver.ok()) GTEST_SKIP() << to_string(driver.error());
    driver_ = driver.value();
    Result<std::vector<std::unique_ptr<Device>>> devices = open_devices(driver_);
    ASSERT_TRUE(devices.ok()) << to_string(devices.error());
    if (devices.value().empty()) GTEST_SKIP() << "no GPU";
    devices_ = std::move(devices.value());
    jit_.emplace(toy_config(scratch_.path() + "/cache"), driver_.major(), toy_bundle());
    if (const auto nvrtc = jit_->nvrtc(); !nvrtc.ok()) GTEST_SKIP() << to_string(nvrtc.error());
    kernels_.emplace(driver_, *jit_);
    guard_.emplace(device());
    ASSERT_EQ(guard_->result(), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuStreamCreate(&stream_, 1), CUDA_SUCCESS);  // CU_STREAM_NON_BLOCKING
    ASSERT_EQ(driver_.cuMemAlloc(&memory_, kCount * sizeof(float)), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (memory_ != 0) driver_.cuMemFree(memory_);
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }

  Device& device() { return *devices_.front(); }
  const CudaKernel& loaded(int factor) {
    const Result<const CudaKernel*> kernel = kernels_->get(toy_source(factor), device(), stream_);
    EXPECT_TRUE(kernel.ok()) << to_string(kernel.error());
    return *kernel.value();
  }
  void expect_result(int factor) {
    std::vector<float> out(kCount);
    ASSERT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuMemcpyDtoH(out.data(), memory_, kCount * sizeof(float)), CUDA_SUCCESS);
    for (int i = 0; i < kCount; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(factor * i));
  }

  static constexpr int kCount = 50;
  ScratchDirectory scratch_;
  Driver driver_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::optional<Jit> jit_;
  std::optional<Kernels> kernels_;
  std::optional<ContextGuard> guard_;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(GpuLaunch, RunsAndLeavesTheContextAlone) {
  const CudaKernel& kernel = loaded(3);
  EXPECT_EQ(kernels_->find("toy", toy_source(3).digest, 0), &kernel);
  EXPECT_EQ(kernels_->find("other", toy_source(3).digest, 0), nullptr);
  EXPECT_GT(kernel.registers, 0);
  const ToyParams params{memory_, kCount};
  ASSERT_EQ(launch(device(), kernel, {}, stream_, &params), CUDA_SUCCESS);
  expect_result(3);
  // Without a current context one is pushed for the call, and popped again.
  CUcontext mine = nullptr;
  ASSERT_EQ(driver_.cuCtxPopCurrent(&mine), CUDA_SUCCESS);
  EXPECT_EQ(launch(device(), kernel, {}, stream_, &params), CUDA_SUCCESS);
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
  ASSERT_EQ(driver_.cuCtxPushCurrent(mine), CUDA_SUCCESS);
}

TEST_F(GpuLaunch, ACaptureTakesLoadedKernelsAndRefusesOthers) {
  const CudaKernel& kernel = loaded(4);
  const ToyParams params{memory_, kCount};
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  const Result<const CudaKernel*> missing = kernels_->get(toy_source(5), device(), stream_);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().hint.find("warmup"), std::string::npos);
  const Result<const CudaKernel*> there = kernels_->get(toy_source(4), device(), stream_);
  EXPECT_TRUE(there.ok());
  EXPECT_EQ(launch(device(), kernel, {}, stream_, &params), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS) << "the refusal broke the capture";
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver_.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  expect_result(4);
  driver_.cuGraphExecDestroy(exec);
  driver_.cuGraphDestroy(graph);
}

// Median host time of one call, in nanoseconds, in batches that the GPU keeps up with.
template <class Call>
double median_ns(const Driver& driver, CUstream stream, Call&& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatch = 100;
  std::vector<double> samples;
  for (int batch = 0; batch < 200; ++batch) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kBatch; ++i) call();
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kBatch);
    driver.cuStreamSynchronize(stream);
  }
  std::nth_element(samples.begin(), samples.begin() + 100, samples.end());
  return samples[100];
}

TEST_F(GpuLaunch, CostsAtMostAMicrosecondMoreThanTheDriver) {
  const CudaKernel& kernel = loaded(3);
  const ToyParams params{memory_, kCount};
  void* arguments[] = {const_cast<ToyParams*>(&params)};
  const CUlaunchConfig config{1, 1, 1, kernel.threads, 1, 1, kernel.smem_bytes, stream_, nullptr, 0};
  const auto raw = [&] { driver_.cuLaunchKernelEx(&config, kernel.function, arguments, nullptr); };
  const auto own = [&] { launch(device(), kernel, {}, stream_, &params); };
  const std::uint64_t digest = toy_source(3).digest;
  const auto found = [&] { launch(device(), *kernels_->find("toy", digest, 0), {}, stream_, &params); };
  median_ns(driver_, stream_, raw);  // warms up
  const double raw_ns = median_ns(driver_, stream_, raw);
  const double own_ns = median_ns(driver_, stream_, own);
  const double found_ns = median_ns(driver_, stream_, found);
  std::printf("%s: cuLaunchKernelEx %.0f ns, launch %.0f ns, find and launch %.0f ns\n", device().info().name.c_str(),
              raw_ns, own_ns, found_ns);
  EXPECT_LT(own_ns - raw_ns, 1000.0);
}

}  // namespace
}  // namespace fovea::testing
