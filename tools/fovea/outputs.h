// Writes the results of a call, all files or none.
#pragma once

#include <string>

#include "tools/fovea/call.h"

namespace fovea::cli {

// Paths end in .npy or .safetensors; empty = not wanted. One safetensors path for both gives one file with out and lse.
Outcome check_output_path(const std::string& path);
Outcome write_outputs(const Call& call, const std::string& out_path, const std::string& lse_path, NpyBf16 bf16);

}  // namespace fovea::cli
