// Whether the tiles that are tried compute what the tuned ones do: speed of wrong results counts for nothing.
#pragma once

#include <string>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::cli {

// The elements of out and lse of a call, whose storage is dense and in host memory.
struct Outputs {
  std::vector<double> out, lse;
};
Outputs outputs_of(const fovea_forward_args& args);

// What is wrong with `tried`; empty where each element of out is within eight roundings of the largest one, and of lse
// within twice the contract's limit: both sides may err.
std::string disagreement(const Outputs& tried, const Outputs& tuned, const fovea_forward_args& args);

}  // namespace fovea::cli
