// What one process of `fovea tune` does: times calls on the CUDA device and says which kernel and tiles they had.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/fovea/commands/tune.h"

namespace fovea::cli {

struct Measured {
  std::vector<double> seconds;  // of a call, per length; empty: `why`
  std::string why;
  std::string kernel, device;
  int sm = 0;                       // of the device: 90
  std::map<std::string, int> tile;  // "tile_m" -> 128
};

// The shapes of each measurement.
std::vector<Shapes> shapes_of(const TuneOptions& options);

// In this process.
Measured measure_calls(const TuneOptions& options);

// The same in another process, which has `tile` as FOVEA_TILE (empty: none) and gets `arguments`, argv[0] first.
// A process that ends badly or takes too long is a reason, not a failure.
Measured measure_in_process(std::vector<std::string> arguments, const std::string& tile, int timeout);

// One line of JSON and back. What is none of it gives a reason.
std::string to_json(const Measured& measured);
Measured measured_from_json(const std::string& text);

}  // namespace fovea::cli
