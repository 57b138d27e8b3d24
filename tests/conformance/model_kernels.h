// The conformance kernels as entries of the model, by name.
#pragma once

#include <string_view>

#include "base/types.h"

namespace fovea::conformance {

// What a launch passes to every thread.
struct KernelArguments {
  const u32* in;
  u32* out;
  const TensorMap* maps;  // of the TMA cases
};

// Null when there is no such kernel.
using ModelEntry = void (*)(const void* arguments);
ModelEntry model_entry(std::string_view kernel);

}  // namespace fovea::conformance
