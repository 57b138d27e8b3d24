// fovea cache: where compiled kernels are kept, whether they are whole, and removing them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct CacheOptions {
  std::string action = "ls";  // path, ls, verify, clear
};

void add_cache(CLI::App& app, CacheOptions& options);
Result<ExitCode> cache(const CacheOptions& options, const Console& console);

}  // namespace fovea::cli
