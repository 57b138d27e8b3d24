// Validation of a merge call: shapes, dtypes and aliasing of its parts and its result.
#pragma once

#include <vector>

#include "backend/cpu/forward.h"
#include "core/error.h"

namespace fovea {

// Owns the part views that `operands.parts` would point to.
struct MergeCall {
  std::vector<cpu::PartView> parts;
  cpu::MergeOperands operands;  // without `parts`
};

Result<MergeCall> validate_merge(const fovea_merge_args* args);

}  // namespace fovea
