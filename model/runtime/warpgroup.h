// The wgmma state of one warpgroup: products in flight, groups, and the registers that they will write.
#pragma once

#include <vector>

#include "model/machine.h"

namespace fovea::model {

struct WarpgroupState {
  u32 open_group = 1;
};

}  // namespace fovea::model
