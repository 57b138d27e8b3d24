// fovea_forward on a real GPU through the C ABI: what a warm call costs on the host beyond the driver's own launch of
// the same kernel, and calls inside a CUDA graph's capture. Skipped, with the reason, where there is no GPU or no
// NVRTC.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/kernels.h"
#include "jit/toy.h"
#include "plan/fwd_params.h"
#include "select/fwd_mma.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

using namespace cuda;

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kHeadDim = 64;
constexpr std::size_t kTensorBytes = 2 * kRows * kHeadDim;

class GpuForward : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Driver> driver = load_driver();
    if (!driver.ok()) GTEST_SKIP() << to_string(driver.error());
    driver_ = driver.value();
    Result<std::vector<std::unique_ptr<Device>>> devices = open_devices(driver_);
    ASSERT_TRUE(devices.ok()) << to_string(devices.error());
    if (devices.value().empty()) GTEST_SKIP() << "no GPU";
    devices_ = std::move(devices.value());
    jit_.emplace(toy_config(scratch_.path() + "/cache"), driver_.major(), embedded_bundle());
    if (const auto nvrtc = jit_->nvrtc(); !nvrtc.ok()) GTEST_SKIP() << to_string(nvrtc.error());
    guard_.emplace(device());
    ASSERT_EQ(driver_.cuStreamCreate(&stream_, 1), CUDA_SUCCESS);  // CU_STREAM_NON_BLOCKING
    ASSERT_EQ(driver_.cuMemAlloc(&memory_, 4 * kTensorBytes), CUDA_SUCCESS);
    ASSERT_EQ(fovea_context_create(nullptr, &context_, nullptr), FOVEA_OK);
    args_.struct_size = sizeof(args_);
    std::array tensors{&args_.q, &args_.k, &args_.v, &args_.out};
    for (std::size_t i = 0; i < tensors.size(); ++i) *tensors[i] = tensor(memory_ + i * kTensorBytes);
    args_.stream = stream_;
    error_.struct_size = sizeof(error_);
  }
  void TearDown() override {
    fovea_context_destroy(context_);
    if (memory_ != 0) driver_.cuMemFree(memory_);
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }

  static fovea_tensor tensor(CUdeviceptr data) {
    fovea_tensor t{};
    t.data = reinterpret_cast<void*>(data);
    t.dtype = FOVEA_BF16;
    t.rank = 4;
    t.device_type = FOVEA_DEVICE_CUDA;
    const std::int64_t shape[] = {1, kRows, 1, kHeadDim};
    const std::int64_t strides[] = {kRows * kHeadDim, kHeadDim, kHeadDim, 1};
    std::copy(std::begin(shape), std::end(shape), t.shape);
    std::copy(std::begin(strides), std::end(strides), t.strides);
    return t;
  }
  Device& device() { return *devices_.front(); }
  fovea_status forward() { return fovea_forward(context_, &args_, &error_); }

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

  ScratchDirectory scratch_;
  Driver driver_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::optional<Jit> jit_;
  std::optional<ContextGuard> guard_;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  fovea_context* context_ = nullptr;
  fovea_forward_args args_{};
  fovea_error error_{};
};

TEST_F(GpuForward, AWarmCallCostsAtMostAMicrosecondMoreThanTheDriversLaunch) {
  ASSERT_EQ(forward(), FOVEA_OK) << error_.why;
  Problem problem;
  problem.dtype = problem.out_dtype = FOVEA_BF16;
  problem.head_dim_qk = problem.head_dim_v = kHeadDim;
  problem.softmax_scale = 0.125F;
  GpuCaps caps = architecture_caps(device().info().sm);
  const KernelSource source = kernel_source(fwd_mma_spec(problem, caps));
  Kernels kernels(driver_, *jit_);
  const Result<const CudaKernel*> kernel = kernels.get(source, device(), stream_);
  ASSERT_TRUE(kernel.ok()) << to_string(kernel.error());
  FwdParams params{};  // a batch of nothing: the CTA ends at once
  params.group = params.tiles_m = params.heads_in_flight = params.num_heads_q = params.batch = params.num_splits = 1;
  void* arguments[] = {&params};
  const CUlaunchConfig config{1, 1, 1, kernel.value()->threads, 1, 1, kernel.value()->smem_bytes, stream_, nullptr, 0};
  const auto raw = [&] { driver_.cuLaunchKernelEx(&config, kernel.value()->function, arguments, nullptr); };
  median_ns(raw);  // warms up
  const double raw_ns = median_ns(raw);
  const double own_ns = median_ns([&] { forward(); });
  std::printf("%s: cuLaunchKernelEx %.0f ns, fovea_forward %.0f ns\n", device().info().name.c_str(), raw_ns, own_ns);
  EXPECT_LT(own_ns - raw_ns, 1000.0);
}

TEST_F(GpuForward, ACaptureTakesWarmCallsAndRefusesCold) {
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(forward(), FOVEA_UNSUPPORTED);
  EXPECT_NE(std::strstr(error_.hint, "warmup"), nullptr) << error_.hint;
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  driver_.cuGraphDestroy(graph);

  ASSERT_EQ(forward(), FOVEA_OK) << error_.why;
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(forward(), FOVEA_OK) << error_.why;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver_.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  driver_.cuGraphExecDestroy(exec);
  driver_.cuGraphDestroy(graph);
}

}  // namespace
}  // namespace fovea::testing
