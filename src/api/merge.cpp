// fovea_merge: validate, then run on the context's threads.
#include "api/boundary.h"
#include "api/context.h"
#include "api/validate_merge.h"

extern "C" fovea_status fovea_merge(fovea_context* context, const fovea_merge_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    Result<MergeCall> call = validate_merge(args);
    if (!call.ok()) return call.error();
    cpu::MergeOperands operands = call.value().operands;
    operands.parts = call.value().parts;
    const std::lock_guard lock(context->mutex);
    context->merge_calls.fetch_add(1, std::memory_order_relaxed);
    if (operands.batch > 0 && operands.rows > 0 && operands.heads > 0) cpu::run_merge(operands, context->pool);
    return {};
  });
}
