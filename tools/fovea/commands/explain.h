// fovea explain: what the library would do with a call, and why, without doing it.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/fovea/call.h"
#include "tools/fovea/console.h"
#include "tools/fovea/features.h"
#include "tools/fovea/inputs.h"
#include "tools/fovea/model_options.h"
#include "tools/fovea/shapes.h"

namespace fovea::cli {

struct ExplainOptions {
  InputOptions inputs;  // when none is given, `shapes` speak
  Shapes shapes;
  FeatureOptions features;
  FileLayout layout = FileLayout::bshd;
  ModelOptions model;
  bool model_report = false;
  std::int32_t threads = 0;
};

void add_explain(CLI::App& app, ExplainOptions& options);
Result<ExitCode> explain(const ExplainOptions& options, const Console& console);

}  // namespace fovea::cli
