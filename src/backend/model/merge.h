// Runs a merge on the functional GPU model.
#pragma once

#include "backend/model/forward.h"
#include "plan/merge_operands.h"

namespace fovea::model {

// As run_forward(); `operands` has 1 to kMaxMergeParts parts, and rows.
Result<Report> run_merge(const MergeOperands& operands, Modules& modules, const Settings& settings);

}  // namespace fovea::model
