// The launches of fwd_mma and fwd_wgmma, and of combine where keys are split: linear grids, parameters by value.
#include "backend/cuda/forward.h"

#include <algorithm>

#include "backend/cuda/grid.h"
#include "device/spec/fwd_wgmma_params.h"
#include "plan/fwd_params.h"
#include "select/fwd_mma.h"

namespace fovea::cuda {
namespace {

Check launch_wgmma(const Plan& plan, const ForwardOperands& operands, Device& device, const CudaKernel& kernel,
                   Scratch& scratch, CUstream stream) {
  FwdWgmmaParams params;
  params.fwd = make_fwd_params(plan, operands, nullptr);
  const CUresult result = scratch.maps.fill(forward_maps(plan, operands), params);
  if (result != CUDA_SUCCESS) return driver_error(device.driver(), result, "encoding a tensor map for fwd_wgmma");
  const std::int64_t ctas = std::min<std::int64_t>(plan.grid, device.info().num_sms);
  params.counter = plan.grid > ctas ? scratch.counters.find(device, stream) : nullptr;
  params.tiles = static_cast<u32>(plan.grid);
  return launch_grid(device, kernel, ctas, stream, params, name(plan.choice.kernel));
}

}  // namespace

Result<ForwardKernels> forward_kernels(const Plan& plan, Device& device, Kernels& kernels, Scratch& scratch,
                                       CUstream stream) {
  ForwardKernels found;
  const auto attention = find_or_make(plan.choice.spec, name(plan.choice.kernel), device, kernels, stream);
  if (!attention.ok()) return attention.error();
  found.attention = attention.value();
  if (plan.choice.kernel == KernelId::fwd_wgmma) {
    if (Check bad = scratch.counters.prepare(device)) return *bad;
  }
  if (plan.num_splits == 1) return found;
  const auto combine = find_or_make(combine_spec(plan.problem), "combine", device, kernels, stream);
  if (!combine.ok()) return combine.error();
  found.combine = combine.value();
  return found;
}

Check run_forward(const Plan& plan, const ForwardOperands& operands, Device& device, const ForwardKernels& kernels,
                  Scratch& scratch, CUstream stream) {
  const std::string_view kernel_name = name(plan.choice.kernel);
  if (plan.choice.kernel == KernelId::fwd_wgmma) {
    return launch_wgmma(plan, operands, device, *kernels.attention, scratch, stream);
  }
  if (plan.num_splits == 1) {
    return launch_grid(device, *kernels.attention, plan.grid, stream, make_fwd_params(plan, operands, nullptr),
                       kernel_name);
  }
  const SplitParts split = split_parts(plan, operands);
  const Result<void*> parts = scratch.memory.reserve(device, stream, split.bytes);
  if (!parts.ok()) return parts.error();
  auto* floats = static_cast<float*>(parts.value());
  if (Check bad = launch_grid(device, *kernels.attention, plan.grid, stream, make_fwd_params(plan, operands, floats),
                              kernel_name)) {
    return bad;
  }
  return launch_grid(device, *kernels.combine, split.combine_grid, stream, make_combine_params(plan, operands, floats),
                     "combine");
}

}  // namespace fovea::cuda
