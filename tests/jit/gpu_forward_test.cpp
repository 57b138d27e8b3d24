// fovea_forward on a real GPU through the C ABI: what a warm call costs on the host beyond the driver's own launch of
// the same kernel, and calls inside a CUDA graph's capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "jit/gpu_test.h"
#include "plan/fwd_params.h"
#include "select/fwd_mma.h"
#include "select/specs.h"

namespace fovea::testing {
namespace {

using namespace cuda;

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kHeadDim = 64;
constexpr std::size_t kTensorBytes = 2 * kRows * kHeadDim;

class GpuForward : public GpuTest {
 protected:
  GpuForward() : GpuTest(embedded_bundle(), 4 * kTensorBytes) {}
  void SetUp() override {
    GpuTest::SetUp();
    if (!ready()) return;
    ASSERT_EQ(fovea_context_create(nullptr, &context_, nullptr), FOVEA_OK);
    args_.struct_size = sizeof(args_);
    std::array tensors{&args_.q, &args_.k, &args_.v, &args_.out};
    for (std::size_t i = 0; i < tensors.size(); ++i) *tensors[i] = tensor(memory_ + i * kTensorBytes);
    args_.stream = stream_;
    error_.struct_size = sizeof(error_);
  }
  void TearDown() override {
    fovea_context_destroy(context_);
    GpuTest::TearDown();
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
  fovea_status forward() { return fovea_forward(context_, &args_, &error_); }

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
  const Result<const CudaKernel*> kernel = kernels_->get(source, device(), stream_);
  ASSERT_TRUE(kernel.ok()) << to_string(kernel.error());
  FwdParams params{};  // a batch of nothing: the CTA ends at once
  params.group = params.tiles_m = params.heads_in_flight = params.head_groups = 1;
  params.num_heads_q = params.batch = params.num_splits = 1;
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
