// Loading and launching on a real GPU: results, contexts, captures, and what a launch costs beyond the driver's own.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "backend/cuda/launch.h"
#include "jit/gpu_test.h"

namespace fovea::testing {
namespace {

using namespace cuda;

struct ToyParams {
  CUdeviceptr out;
  int count;
};

class GpuLaunch : public GpuTest {
 protected:
  GpuLaunch() : GpuTest(toy_bundle(), kCount * sizeof(float)) {}

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

TEST_F(GpuLaunch, CostsAtMostAMicrosecondMoreThanTheDriver) {
  const CudaKernel& kernel = loaded(3);
  const ToyParams params{memory_, kCount};
  void* arguments[] = {const_cast<ToyParams*>(&params)};
  const CUlaunchConfig config{1, 1, 1, kernel.threads, 1, 1, kernel.smem_bytes, stream_, nullptr, 0};
  const auto raw = [&] { driver_.cuLaunchKernelEx(&config, kernel.function, arguments, nullptr); };
  const auto own = [&] { launch(device(), kernel, {}, stream_, &params); };
  const std::uint64_t digest = toy_source(3).digest;
  const auto found = [&] { launch(device(), *kernels_->find("toy", digest, 0), {}, stream_, &params); };
  median_ns(raw);  // warms up
  const double raw_ns = median_ns(raw);
  const double own_ns = median_ns(own);
  const double found_ns = median_ns(found);
  std::printf("%s: cuLaunchKernelEx %.0f ns, launch %.0f ns, find and launch %.0f ns\n", device().info().name.c_str(),
              raw_ns, own_ns, found_ns);
  EXPECT_LT(own_ns - raw_ns, 1000.0);
}

}  // namespace
}  // namespace fovea::testing
