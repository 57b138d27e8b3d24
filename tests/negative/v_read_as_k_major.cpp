// misuse: no matching function for call to
// V lies with its head dim contiguous: read without .trans, or through K's pattern, it would be silently wrong.
#include "tile/ldmatrix.h"

namespace fovea {

inline constexpr SmemTile kV{.rows = 64, .cols = 64};

FragBPair value_operand(SmemPtr tile) {
#ifdef MISUSE
  return load_b(LdmatrixView<kV, LdmatrixPattern::a_row_major>(tile), 0, 0);
#else
  return load_b(LdmatrixView<kV, LdmatrixPattern::b_n_major>(tile), 0, 0);
#endif
}

}  // namespace fovea
