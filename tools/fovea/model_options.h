// Options of the functional GPU model, shared by the commands that can run on it.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "fovea/fovea.h"

namespace fovea::cli {

struct ModelOptions {
  std::string arch = "sm_80";
  std::string landing = "random";
  std::uint64_t seed = 0;
};

void add_model_options(CLI::App& app, ModelOptions& options);

// Fills what concerns the model. The values are known: CLI11 has checked them.
void apply(const ModelOptions& options, fovea_context_args& args);

}  // namespace fovea::cli
