// fovea doctor: what this machine offers to the library, and what is missing and why.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct DoctorOptions {
  std::int32_t threads = 0;
};

void add_doctor(CLI::App& app, DoctorOptions& options);
Result<ExitCode> doctor(const DoctorOptions& options, const Console& console);

}  // namespace fovea::cli
