// fovea check: generated cases against the fp64 reference.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"
#include "tools/fovea/model_options.h"

namespace fovea::cli {

struct CheckOptions {
  std::string grid = "quick";
  std::int64_t count = 100;        // of random cases
  std::uint64_t seed = 1;          // of the first random case; the others follow
  std::vector<std::string> lines;  // --case; replaces the grid
  std::string filter;              // text that a case line must contain
  std::string backend = "auto";
  ModelOptions model;
  bool quick = false;  // small cases only, in every grid
  std::int32_t threads = 0;
  int jobs = 0;  // cases at a time; 0: one per core with backends cuda and model, else 1
};

void add_check(CLI::App& app, CheckOptions& options);
Result<ExitCode> check(const CheckOptions& options, const Console& console);

}  // namespace fovea::cli
