// One product of a warpgroup: the checks of its shared-memory operands and its arithmetic.
#pragma once

#include "model/runtime/machine.h"
#include "model/runtime/warpgroup.h"

namespace fovea::model {

// Reads of this warp: its 16 rows of A and all of B, checked and recorded for the group in progress.
void check_operands(Warp& warp, const Product& product);

// Computes the product for all four warps, once, after those before it on the same accumulators.
void land_product(Cta& cta, u32 warpgroup, Product& product);

}  // namespace fovea::model
