// The global memory that a call may touch, operand by operand: what the model holds every access against.
#pragma once

#include <vector>

#include "model/launch.h"
#include "plan/merge_operands.h"

namespace fovea::model {

// Only out and lse are writable. An operand without elements has no region.
std::vector<Region> forward_regions(const Problem& problem, const ForwardOperands& operands);

// Of a merge; only the result is writable. A part that is the very view of the result has no region of its own.
std::vector<Region> merge_regions(const MergeOperands& operands);

}  // namespace fovea::model
