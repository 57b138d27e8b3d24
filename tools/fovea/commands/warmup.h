// fovea warmup: compiles the standard list of kernels ahead of their first use, also for GPUs that are elsewhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct WarmupOptions {
  std::string target;  // empty: this machine's GPU
  int threads = 0;     // compilations at a time; 0 = one per core
};

void add_warmup(CLI::App& app, WarmupOptions& options);
Result<ExitCode> warmup(const WarmupOptions& options, const Console& console);

}  // namespace fovea::cli
