// The global memory that a forward call may touch, operand by operand: what the model holds every access against.
#pragma once

#include <vector>

#include "model/launch.h"
#include "plan/operands.h"

namespace fovea::model {

// Only out and lse are writable. An operand without elements has no region.
std::vector<Region> forward_regions(const Problem& problem, const ForwardOperands& operands);

}  // namespace fovea::model
