// fovea_forward: validate, find the plan, run it where it belongs.
#include "backend/cpu/forward.h"

#include "api/boundary.h"
#include "api/context.h"
#include "backend/cuda/forward.h"
#include "backend/model/forward.h"

namespace fovea {
namespace {

bool has_rows(const Problem& p) { return p.total_q > 0 && p.num_heads_q > 0; }

// A call whose kernel is not loaded yet. Compiling may take seconds, so that it holds no lock.
Check first_run_on_cuda(ContextState& context, const Plan& plan, const ForwardCall& call) {
  cuda::Device& device = *context.gpu.device(call.device_id);
  const auto stream = static_cast<cuda::CUstream>(call.stream);
  const Result<cuda::ForwardKernels> kernels =
      cuda::forward_kernels(plan, device, context.gpu.kernels(), context.gpu.scratch(), stream);
  if (!kernels.ok()) return kernels.error();
  {
    const std::lock_guard lock(context.mutex);
    if (PlannedCall* kept = context.plans.find(call)) kept->kernels = kernels.value();
  }
  return cuda::run_forward(plan, call.operands, device, kernels.value(), context.gpu.scratch(), stream);
}

// On the functional model, on this thread. A fault of the kernel is a fault of fovea, named.
Check run_on_model(ContextState& context, const Plan& plan, const ForwardCall& call) {
  const model::Settings settings = context.model_settings();
  const Result<model::Report> report = model::run_forward(plan, call.operands, context.gpu.modules(), settings);
  if (!report.ok()) return report.error();
  {
    const std::lock_guard lock(context.mutex);
    context.last_model_report = report.value();
  }
  if (report.value().fault) return model::fault_error(name(plan.choice.kernel), settings, *report.value().fault);
  return {};
}

Check forward(ContextState& context, const ForwardCall& call) {
  std::unique_lock lock(context.mutex);
  const Result<PlannedCall*> planned = context.plan_for(call);
  if (!planned.ok()) return planned.error();
  context.forward_calls.fetch_add(1, std::memory_order_relaxed);
  if (!has_rows(call.problem)) return {};
  const Plan& plan = planned.value()->plan;
  if (!on_gpu(plan.choice.kernel)) {
    return cpu::run_forward(plan, call.operands, context.pool, context.workspace);
  }
  if (planned.value()->kernels.attention != nullptr) {
    return cuda::run_forward(plan, call.operands, *context.gpu.device(call.device_id), planned.value()->kernels,
                             context.gpu.scratch(), static_cast<cuda::CUstream>(call.stream));
  }
  const Plan copy = plan;  // the kept one may make room for another once the lock is gone
  lock.unlock();
  if (call.backend == FOVEA_BACKEND_MODEL) return run_on_model(context, copy, call);
  return first_run_on_cuda(context, copy, call);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_forward(fovea_context* context, const fovea_forward_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    ForwardCall call;
    if (Check bad = validate_forward(args, call)) return bad;
    return forward(*context, call);
  });
}
