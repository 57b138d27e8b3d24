// fovea_forward: validate, find the plan, run it where it belongs.
#include "backend/cpu/forward.h"

#include "api/boundary.h"
#include "api/context.h"
#include "backend/cuda/forward.h"

namespace fovea {
namespace {

bool has_rows(const Problem& p) { return p.total_q > 0 && p.num_heads_q > 0; }

// A call whose kernel is not loaded yet. Compiling may take seconds, so that it holds no lock.
Check first_run_on_cuda(ContextState& context, const Plan& plan, const ForwardCall& call) {
  cuda::Device& device = *context.gpu.device(call.device_id);
  const auto stream = static_cast<cuda::CUstream>(call.stream);
  const Result<const cuda::CudaKernel*> kernel = cuda::forward_kernel(plan, device, context.gpu.kernels(), stream);
  if (!kernel.ok()) return kernel.error();
  {
    const std::lock_guard lock(context.mutex);
    if (PlannedCall* kept = context.plans.find(call)) kept->kernel = kernel.value();
  }
  return cuda::run_forward(plan, call.operands, device, *kernel.value(), stream);
}

Check forward(ContextState& context, const ForwardCall& call) {
  std::unique_lock lock(context.mutex);
  const Result<PlannedCall*> planned = context.plan_for(call);
  if (!planned.ok()) return planned.error();
  context.forward_calls.fetch_add(1, std::memory_order_relaxed);
  if (!has_rows(call.problem)) return {};
  const Plan& plan = planned.value()->plan;
  if (plan.choice.kernel != KernelId::fwd_mma) {
    return cpu::run_forward(plan, call.operands, context.pool, context.workspace);
  }
  if (const cuda::CudaKernel* kernel = planned.value()->kernel) {
    return cuda::run_forward(plan, call.operands, *context.gpu.device(call.device_id), *kernel,
                             static_cast<cuda::CUstream>(call.stream));
  }
  const Plan copy = plan;  // the kept one may make room for another once the lock is gone
  lock.unlock();
  return first_run_on_cuda(context, copy, call);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_forward(fovea_context* context, const fovea_forward_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    const Result<ForwardCall> call = validate_forward(args);
    if (!call.ok()) return call.error();
    return forward(*context, call.value());
  });
}
