// Target: what a kernel is compiled for: a GPU architecture, or the functional model on the host.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace fovea {

struct Target {
  enum class Kind { gpu, model };
  Kind kind = Kind::gpu;
  int sm = 0;  // 80, 86, 89, 90, 100, 120: major * 10 + minor of the compute capability; 0 for the model, whose
               // one shared object serves every architecture

  bool operator==(const Target&) const = default;
};

// "sm_80", "sm_90a": from 9.0 on kernels use instructions of one architecture only, which the suffix admits.
// "model" for the model.
std::string name(const Target& target);

// Reads a GPU target back: "sm_90a", also "sm_90".
Result<Target> parse_target(std::string_view text);

}  // namespace fovea
