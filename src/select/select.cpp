// Asks the registry: all verdicts for explain, the first that serves for a call.
#include "select/select.h"

#include "core/text.h"

namespace fovea {
namespace {

bool allowed(const KernelInfo& kernel, fovea_backend backend) {
  return backend == FOVEA_BACKEND_AUTO || kernel.backend == backend;
}

Error no_backend(const Caps& caps, fovea_backend backend) {
  const bool cuda = backend == FOVEA_BACKEND_CUDA;
  return {.status = FOVEA_NO_BACKEND,
          .asked = cuda ? std::string("backend cuda") : cat("backend ", static_cast<int>(backend)),
          .allowed = "backend auto or cpu",
          .why = cuda ? caps.cuda_reason : std::string("no kernel of this build belongs to that backend"),
          .hint = "ask for FOVEA_BACKEND_AUTO or FOVEA_BACKEND_CPU with tensors in CPU memory"};
}

}  // namespace

std::vector<Verdict> supports(const Problem& problem, const Caps& caps, fovea_backend backend) {
  std::vector<Verdict> verdicts;
  for (const KernelInfo& kernel : kernels()) {
    if (allowed(kernel, backend)) verdicts.push_back(kernel.supports(problem, caps));
  }
  return verdicts;
}

Result<Choice> choose(const Problem& problem, const Caps& caps, fovea_backend backend) {
  // Kernels go from special to general, so the last refusal is the one that stands in the way.
  Error refusal = no_backend(caps, backend);
  for (const KernelInfo& kernel : kernels()) {
    if (!allowed(kernel, backend)) continue;
    Verdict verdict = kernel.supports(problem, caps);
    if (verdict.served) return Choice{kernel.id};
    refusal = std::move(verdict.refusal);
  }
  return refusal;
}

}  // namespace fovea
