// Output fragments into a swizzled shared tile: by stmatrix where the spec has it (sm_90 and up), else as 32-bit
// stores. Which form is legal follows from the fragment's map, never from the architecture: the fragment must hold what
// stmatrix.x4 takes, the packed pair of two neighbouring n8 accumulators.
#pragma once

#include "layout/ldmatrix_pattern.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"
#include "tile/ldmatrix.h"

namespace fovea {

// 16 x 16 elements at (row, col) of the tile, both multiples of 16.
template <Store kStore, SmemTile kTile, class F>
FOVEA_INLINE void store_matrix(const LdmatrixView<kTile, LdmatrixPattern::a_row_major>& view, u32 row, u32 col,
                               const F& fragment) {
  static_assert(ldmatrix_delivers(LdmatrixPattern::a_row_major, F::kMap, 0, 0),
                "stmatrix.x4 would scatter this fragment: its map is not that of four 8x8 matrices");
  if constexpr (kStore == Store::stmatrix) {
    isa::stmatrix_x4(view.at(row, col), fragment.reg);
  } else {
    // Register r of lane t: row t/4 (+8 for odd r), columns 2(t%4) of 8-column half r/2.
    const u32 lane = isa::laneid();
    FOVEA_UNROLL
    for (u32 r = 0; r < 4; ++r) {
      const u32 in_row = row + F::kMap.row(F::kMap.index(0, r, 0)) + (lane >> 2U);
      const u32 in_col = col + F::kMap.col(F::kMap.index(0, r, 0)) + 2U * (lane & 3U);
      isa::st_shared<u32>(view.tile() + kTile.offset(in_row, in_col), fragment.reg[static_cast<i32>(r)]);
    }
  }
}

}  // namespace fovea
