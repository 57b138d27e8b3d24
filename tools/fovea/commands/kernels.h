// fovea kernels: the GPU kernels of the standard list: which there are, what they are made of, and their binaries.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/fovea/console.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct KernelsOptions {
  std::string action = "list";  // list, show, dump
  std::string target;           // empty: this machine's GPU
  std::int32_t index = 0;
  std::string form = "stub";  // of dump: stub, resources, ptx, binary
  std::string out;            // of dump; empty: stdout
};

// --arch, as kernels and warmup have it.
void add_target_option(CLI::App& app, std::string& target);
// For the C ABI: null when empty.
const char* target_text(const std::string& target);

void add_kernels(CLI::App& app, KernelsOptions& options);
Result<ExitCode> kernels(const KernelsOptions& options, const Console& console);

}  // namespace fovea::cli
