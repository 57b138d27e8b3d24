// The parameters of the merge kernel, from the operands of one call.
#pragma once

#include "device/spec/merge_params.h"
#include "plan/merge_operands.h"

namespace fovea {

// `operands` has 1 to kMaxMergeParts parts.
MergeParams make_merge_params(const MergeOperands& operands);

// CTAs; fewer than rows need, when these are more than a grid holds.
std::int64_t merge_grid(const MergeOperands& operands);

}  // namespace fovea
