// The standard list of kernels behind fovea_kernels(), fovea_kernel_dump() and fovea_warmup(): which target a text
// means, and which entry a number.
#pragma once

#include <cstdint>
#include <vector>

#include "api/context.h"
#include "jit/kernel_source.h"
#include "jit/target.h"

namespace fovea {

// Null: the first GPU of the machine.
Result<Target> target_of(fovea_context& context, const char* text);

// The list of a target. The model's is that of the architecture that the context's model stands for.
std::vector<KernelSource> standard_list(const fovea_context& context, const Target& target);

struct StandardKernel {
  Target target;
  KernelSource source;
};
Result<StandardKernel> standard_kernel(fovea_context& context, const char* target, std::int32_t index);

}  // namespace fovea
