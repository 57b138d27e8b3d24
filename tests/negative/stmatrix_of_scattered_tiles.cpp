// misuse: stmatrix.x4 would scatter this fragment
// An accumulator goes through stmatrix only if its packed registers are four 8x8 matrices in stmatrix's order: tiles
// that do not lie side by side, as in an mma.sync accumulator stored through wgmma's epilogue, are refused.
#include "tile/mma.h"
#include "tile/store_matrix.h"

namespace fovea {

inline constexpr SmemTile kOut{.rows = 64, .cols = 64};

#ifdef MISUSE
// Registers ordered {tile 0 row, tile 1 row, tile 0 row+8, tile 1 row+8}.
inline constexpr FragmentMap kInterleaved = [] {
  FragmentMap map = kMmaA16;
  map.map.basis[1] = kMmaA16.map.basis[2];
  map.map.basis[2] = kMmaA16.map.basis[1];
  return map;
}();
using Packed = Fragment<kInterleaved, u32>;
#else
using Packed = FragA;
#endif

void store(SmemPtr tile, const Packed& packed) {
  store_matrix<Store::stmatrix>(LdmatrixView<kOut, LdmatrixPattern::a_row_major>(tile), 0, 0, packed);
}

}  // namespace fovea
