// misuse: a 16-byte cp.async needs rows aligned to 16 bytes
// The alignment that a plan has proven is part of the source's type.
#include "tile/copy.h"

namespace fovea {

#ifdef MISUSE
inline constexpr i32 kAlign = 2;
#else
inline constexpr i32 kAlign = 16;
#endif

void copy(SmemPtr tile, const GmemRows<kAlign>& rows) {
  RowCopy<SmemTile{.rows = 64, .cols = 64}, RowOrder::keys, 128, kAlign>(rows).copy(tile, 0, 64);
}

}  // namespace fovea
