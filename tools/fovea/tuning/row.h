// A tuning row as src/select/tuning_*.h has it.
#pragma once

#include <string>

#include "tools/fovea/tuning/measure.h"
#include "tools/fovea/tuning/sweep.h"

namespace fovea::cli {

// The device's name without its vendor, the day (YYYY-MM-DD), the lengths and what the winner gained over `present`.
std::string evidence(const TuneOptions& options, const Measured& present, const Contender& winner,
                     const std::string& date);

// For the kernel and tiles of `won`.
std::string tuning_row(const TuneOptions& options, const Measured& won, const std::string& evidence);

}  // namespace fovea::cli
