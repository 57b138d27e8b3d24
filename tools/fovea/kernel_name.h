// The kernel that the library chooses for a call, e.g. "cpu_fwd_f32": its family in front, "unknown" if explain fails.
#pragma once

#include <string>

#include "fovea/fovea.h"

namespace fovea::cli {

std::string kernel_name(fovea_context* context, const fovea_forward_args& args);

}  // namespace fovea::cli
