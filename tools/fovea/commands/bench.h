// fovea bench: speed and memory of the library on a grid of synthetic calls.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct BenchOptions {
  std::string set = "quick";
  std::string filter;        // text that a row's name must contain
  double min_seconds = 0.2;  // of timed calls per row
  std::string backend = "auto";
  std::int32_t threads = 0;
};

void add_bench(CLI::App& app, BenchOptions& options);
Result<ExitCode> bench(const BenchOptions& options, const Console& console);

}  // namespace fovea::cli
