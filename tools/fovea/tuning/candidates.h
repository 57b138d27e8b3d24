// The tiles that `fovea tune` tries for a kernel: every combination of a few values of each field. The library refuses
// those for which there is no kernel, so nothing here needs to know its limits.
#pragma once

#include <string>
#include <vector>

namespace fovea::cli {

// Texts for FOVEA_TILE; empty for a kernel without tiles to choose.
std::vector<std::string> tile_candidates(const std::string& kernel);

// Names of the fields of such a text, in order.
std::vector<std::string> tile_fields(const std::string& kernel);

}  // namespace fovea::cli
