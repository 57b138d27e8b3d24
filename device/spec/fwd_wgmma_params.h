// FwdWgmmaParams: what fwd_wgmma is launched with: FwdParams, the maps by which TMA finds tensors, and the tiles.
#pragma once

#include "spec/fwd_params.h"

namespace fovea {

// Fewest rows of a box of paged k and v, which divides both a page and a tile's rows.
inline constexpr i32 kMinPageRows = 16;

struct FwdWgmmaParams {
  TensorMap q, k, v;  // dimensions (d, s, h, b), boxes of 64 columns and the tile's rows, 128-byte swizzle;
                      // paged k and v: (d, slot, h, page), boxes of FwdParams::page_box rows
  TensorMap out;      // likewise, with boxes of 16 rows
  TensorMap bias;     // where there is one: (key, row, h, b), boxes of 64 keys and the tile's rows, of 1 where all rows
                      // are alike; dimensions that are broadcast have extent 1
  FwdParams fwd;
  u32* counter;  // two words, 0 and 0 again after the grid; null: CTA c takes tiles c, c + gridDim and so on
  u32 tiles;     // of the call; schedule.h numbers them
};

}  // namespace fovea
