// FwdWgmmaParams: what fwd_wgmma is launched with: FwdParams, the maps by which TMA finds tensors, and the tiles.
#pragma once

#include "spec/fwd_params.h"

namespace fovea {

struct FwdWgmmaParams {
  TensorMap q, k, v;  // dimensions (d, s, h, b), boxes of 64 columns and the tile's rows, 128-byte swizzle
  TensorMap out;      // likewise, with boxes of 16 rows
  FwdParams fwd;
  u32* counter;  // two words, 0 and 0 again after the grid; null: CTA c takes tiles c, c + gridDim and so on
  u32 tiles;     // of the call; schedule.h numbers them
};

}  // namespace fovea
