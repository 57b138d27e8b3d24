// misuse: no matching function for call to
// wgmma reads V along its columns: named K-major, the product would be silently wrong.
#include "tile/wgmma.h"

namespace fovea {

inline constexpr SmemTile kV{.rows = 64, .cols = 64};

void value_product(WgmmaAcc<64>& out, const FragWgmmaA& weights, SmemPtr tile) {
#ifdef MISUSE
  add_product<Element::bf16>(out, weights, WgmmaOperand<kV, Major::k>(tile), 0U);
#else
  add_product<Element::bf16>(out, weights, WgmmaOperand<kV, Major::mn>(tile), 0U);
#endif
}

}  // namespace fovea
