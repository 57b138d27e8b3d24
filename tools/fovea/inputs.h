// Inputs: which tensors a call gets and from which files. Turning them into views is call.h's business.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/fovea/failure.h"
#include "tools/fovea/io/npy.h"
#include "tools/fovea/io/tensor.h"
#include "tools/fovea/operand.h"

namespace fovea::cli {

struct InputOptions {
  std::string in;                                   // one safetensors file with all of them
  std::string prefix;                               // "layer0."
  std::array<std::string, kOperands.size()> files;  // "file.npy" or "file.safetensors:name"
  std::vector<std::string> ignore;                  // operands of `in` that are left out
  bool npy_bf16 = false;

  bool any() const;
  NpyBf16 bf16() const { return npy_bf16 ? NpyBf16::as_u2 : NpyBf16::refuse; }
};

using Inputs = std::array<std::optional<Tensor>, kOperands.size()>;

void add_input_options(CLI::App& app, InputOptions& options);

// A tensor named by "file.npy", "file.safetensors:name", or "file.safetensors" (then `default_name`).
Result<Tensor> load_tensor(const std::string& reference, const std::string& default_name, NpyBf16 bf16);

Result<Inputs> load_inputs(const InputOptions& options);

}  // namespace fovea::cli
