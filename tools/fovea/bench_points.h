// The grid of `fovea bench` as data: named shapes with their flags.
#pragma once

#include <string>
#include <vector>

#include "tools/fovea/shapes.h"

namespace fovea::cli {

struct BenchPoint {
  std::string name;  // "prefill f32 bh=8 s=1024 d=64 causal"
  Shapes shapes;
  bool causal = false;
};

// "quick", "prefill", "scores" (mask and bias beside the same call without), "decode", "all".
std::vector<BenchPoint> bench_points(const std::string& set);

}  // namespace fovea::cli
