// fovea run: attention on tensors from files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fovea/call.h"
#include "tools/fovea/console.h"
#include "tools/fovea/features.h"
#include "tools/fovea/inputs.h"
#include "tools/fovea/model_options.h"

namespace fovea::cli {

struct RunOptions {
  InputOptions inputs;
  FeatureOptions features;
  FileLayout layout = FileLayout::bshd;
  std::string out, lse;  // file names; empty = not written
  std::string expect;    // FILE[:NAME]
  std::optional<double> tolerance;
  std::string device = "cpu";
  bool check = false;
  ModelOptions model;
  std::int32_t threads = 0;
  int repeat = 1;
};

void add_run(CLI::App& app, RunOptions& options);
Result<ExitCode> run(const RunOptions& options, const Console& console);

void add_layout_option(CLI::App& app, FileLayout& layout);

}  // namespace fovea::cli
