// Validation of a merge call: shapes, dtypes and aliasing of its parts and its result.
#pragma once

#include <vector>

#include "core/error.h"
#include "plan/merge_operands.h"

namespace fovea {

// Owns the part views that `operands.parts` would point to.
struct MergeCall {
  std::vector<PartView> parts;
  MergeOperands operands;                     // without `parts`
  fovea_backend backend = FOVEA_BACKEND_CPU;  // never AUTO
  std::int32_t device_id = 0;
  void* stream = nullptr;
};

Result<MergeCall> validate_merge(const fovea_merge_args* args);

}  // namespace fovea
