// Asks the registry: all verdicts for explain, the first that serves for a call.
#include "select/select.h"

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"

namespace fovea {
namespace {

// AUTO goes where the tensors are; the model runs only when it is asked for.
Executor executor(const Problem& problem, fovea_backend backend) {
  if (backend == FOVEA_BACKEND_AUTO) {
    return problem.device == FOVEA_DEVICE_CPU ? Executor::cpu : Executor::gpu;
  }
  return backend == FOVEA_BACKEND_CPU ? Executor::cpu : Executor::gpu;
}

// Kernels ask about one GPU; under the model that is the one it stands for.
Caps seen_by_kernels(const Caps& caps, fovea_backend backend) {
  Caps seen = caps;
  if (backend == FOVEA_BACKEND_MODEL) seen.gpu = caps.model;
  return seen;
}

}  // namespace

std::vector<Verdict> supports(const Problem& problem, const Caps& caps, fovea_backend backend) {
  const Caps seen = seen_by_kernels(caps, backend);
  std::vector<Verdict> verdicts;
  for (const KernelInfo& kernel : kernels()) {
    if (kernel.executor == executor(problem, backend)) verdicts.push_back(kernel.supports(problem, seen));
  }
  return verdicts;
}

Result<Choice> choose(const Problem& problem, const Caps& caps, fovea_backend backend) {
  const Caps seen = seen_by_kernels(caps, backend);
  // Kernels go from special to general, so the last refusal is the one that stands in the way.
  Error refusal;
  for (const KernelInfo& kernel : kernels()) {
    if (kernel.executor != executor(problem, backend)) continue;
    Verdict verdict = kernel.supports(problem, seen);
    if (verdict.served) {
      Choice choice{kernel.id};
      if (kernel.id == KernelId::fwd_mma) {
        choice.spec = fwd_mma_spec(problem, seen.gpu);
        choice.num_splits = fwd_mma_splits(problem, seen.gpu);
      }
      if (kernel.id == KernelId::fwd_wgmma) choice.spec = fwd_wgmma_spec(problem);
      return choice;
    }
    refusal = std::move(verdict.refusal);
  }
  return refusal;
}

}  // namespace fovea
