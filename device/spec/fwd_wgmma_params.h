// FwdWgmmaParams: what fwd_wgmma is launched with, beside the maps by which TMA finds Q, K and V.
#pragma once

#include "spec/fwd_params.h"

namespace fovea {

struct FwdWgmmaParams {
  TensorMap q, k, v;  // dimensions (d, s, h, b), boxes of 64 columns and the tile's rows, 128-byte swizzle
  FwdParams fwd;
};

}  // namespace fovea
