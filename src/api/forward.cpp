// fovea_forward: validate, find the plan, run it.
#include "backend/cpu/forward.h"
#include "api/boundary.h"
#include "api/context.h"

extern "C" fovea_status fovea_forward(fovea_context* context, const fovea_forward_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    Result<ForwardCall> call = validate_forward(args);
    if (!call.ok()) return call.error();
    const ForwardCall& c = call.value();
    const std::lock_guard lock(context->mutex);
    const Result<const Plan*> plan = context->plans.find_or_make(c.problem, context->caps, c.backend);
    if (!plan.ok()) return plan.error();
    context->forward_calls.fetch_add(1, std::memory_order_relaxed);
    if (c.problem.total_q == 0 || c.problem.num_heads_q == 0) return {};  // no row to write
    return cpu::run_forward(*plan.value(), c.operands, context->pool, context->workspace);
  });
}
