// fovea_warmup: compiles one kernel ahead of its first use. The caller loops, so that it can show its progress.
#include <array>

#include "api/boundary.h"
#include "api/standard_kernels.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 1> kResultSizes{sizeof(fovea_warmup_result)};

std::int32_t to_c(Origin origin) {
  if (origin == Origin::memory) return FOVEA_ORIGIN_MEMORY;
  return origin == Origin::disk ? FOVEA_ORIGIN_DISK : FOVEA_ORIGIN_COMPILED;
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_warmup(fovea_context* context, const char* target, int32_t index,
                                     fovea_warmup_result* result, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (result != nullptr) {
      const auto read = read_versioned("fovea_warmup_result", result, kResultSizes);
      if (!read.ok()) return read.error();
    }
    const Result<StandardKernel> kernel = standard_kernel(*context, target, index);
    if (!kernel.ok()) return kernel.error();
    const Result<Artifact> made = context->gpu.jit().get(kernel.value().source, kernel.value().target);
    if (!made.ok()) return made.error();
    if (result == nullptr) return {};
    result->origin = to_c(made.value().origin);
    result->bytes = made.value().bytes->size();
    result->seconds = made.value().seconds;
    return {};
  });
}
