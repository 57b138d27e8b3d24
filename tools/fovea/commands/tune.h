// fovea tune: tries the tiles of a GPU kernel on given shapes, each in a fresh process, and writes a tuning row when
// one is faster than the present tiles. Needs a CUDA device.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/fovea/console.h"
#include "tools/fovea/features.h"
#include "tools/fovea/shapes.h"

namespace fovea::cli {

struct TuneOptions {
  Shapes shapes;
  FeatureOptions features;
  std::vector<std::int64_t> seqlens;  // queries and keys, one measurement each; empty: what shapes say
  std::int64_t tokens = 0;            // > 0: with seqlens, batch = tokens / length
  std::string only;                   // candidates whose text contains this
  double seconds = 0.3;               // timed calls per length and process
  int timeout = 300;                  // seconds for a process
  std::string out;                    // append the row here
  bool measure = false;               // one process's work: time the call with FOVEA_TILE, print JSON
};

void add_tune(CLI::App& app, TuneOptions& options);
Result<ExitCode> tune(const TuneOptions& options, const Console& console);

}  // namespace fovea::cli
