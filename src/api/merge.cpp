// fovea_merge: validate, then run where the tensors are: on the context's threads, a GPU, or the model.
#include "backend/cuda/merge.h"

#include "api/boundary.h"
#include "api/context.h"
#include "api/validate_merge.h"
#include "backend/cpu/forward.h"
#include "backend/model/merge.h"

namespace fovea {
namespace {

Check run_on_cuda(ContextState& context, const MergeCall& call, const MergeOperands& operands) {
  const GpuCaps& gpu = context.gpu.caps(call.device_id);
  if (!gpu.present || gpu.sm < 80) {
    return Error{.status = FOVEA_NO_BACKEND,
                 .asked = "CUDA tensors",
                 .allowed = "a CUDA device of compute capability 8.0 or later",
                 .why = gpu.present ? gpu.name : gpu.reason,
                 .hint = "copy the parts to CPU memory"};
  }
  return cuda::run_merge(operands, *context.gpu.device(call.device_id), context.gpu.kernels(),
                         static_cast<cuda::CUstream>(call.stream));
}

Check run_on_model(ContextState& context, const MergeOperands& operands) {
  const model::Settings settings = context.model_settings();
  const Result<model::Report> report = model::run_merge(operands, context.gpu.modules(), settings);
  if (!report.ok()) return report.error();
  if (report.value().fault) return model::fault_error("merge", settings, *report.value().fault);
  return {};
}

Check merge(ContextState& context, const MergeCall& call) {
  MergeOperands operands = call.operands;
  operands.parts = call.parts;
  context.merge_calls.fetch_add(1, std::memory_order_relaxed);
  if (operands.batch == 0 || operands.rows == 0 || operands.heads == 0) return {};
  if (call.backend == FOVEA_BACKEND_CUDA) return run_on_cuda(context, call, operands);
  if (call.backend == FOVEA_BACKEND_MODEL) return run_on_model(context, operands);
  const std::lock_guard lock(context.mutex);
  cpu::run_merge(operands, context.pool);
  return {};
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_merge(fovea_context* context, const fovea_merge_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    const Result<MergeCall> call = validate_merge(args);
    if (!call.ok()) return call.error();
    return merge(*context, call.value());
  });
}
