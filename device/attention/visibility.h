// Which keys a query sees under the position rules (docs/contract.md, section 2), per tile and per element. Query i
// sees key j iff 0 <= j < seqlen_kv and, where the band says so, i + left <= j <= i + right.
#pragma once

#include "spec/fwd_params.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// Key blocks [first, last) that some query of rows [row0, row0 + rows) sees.
struct KeyBlocks {
  i32 first, last;
};

template <FwdSpec kSpec>
FOVEA_INLINE KeyBlocks key_blocks(const FwdParams& p, i32 row0, i32 rows) {
  i32 begin = 0;
  i32 end = p.seqlen_kv;
  if constexpr (kSpec.band != Band::none) end = min(end, row0 + rows - 1 + p.right + 1);
  if constexpr (kSpec.band == Band::both) begin = max(begin, row0 + p.left);
  if (begin >= end) return {0, 0};
  return {begin / kSpec.tile_n, ceil_div(end, kSpec.tile_n)};
}

// True if every query of rows [row0, row0 + tile_m) sees all tile_n keys from key0 on.
template <FwdSpec kSpec>
FOVEA_INLINE bool all_visible(const FwdParams& p, i32 row0, i32 key0) {
  bool visible = key0 + kSpec.tile_n <= p.seqlen_kv;
  if constexpr (kSpec.band != Band::none) visible = visible && key0 + kSpec.tile_n - 1 <= row0 + p.right;
  if constexpr (kSpec.band == Band::both) visible = visible && key0 >= row0 + kSpec.tile_m - 1 + p.left;
  return visible;
}

// Hides, by -inf, the elements of one row's scores that query `row` does not see. `pair` holds the lane's two columns
// of each n8 tile: key0 + 8*tile + 2*(lane%4) + {0, 1}.
template <FwdSpec kSpec, i32 kKeyTiles>
FOVEA_INLINE void hide_row(Array<FragC, kKeyTiles>& s, i32 half, const FwdParams& p, i32 row, i32 key0) {
  i32 end = p.seqlen_kv;
  if constexpr (kSpec.band != Band::none) end = min(end, row + p.right + 1);
  const i32 first = key0 + 2 * static_cast<i32>(isa::laneid() & 3U);
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    FOVEA_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      const i32 key = first + 8 * tile + e;
      bool hidden = key >= end;
      if constexpr (kSpec.band == Band::both) hidden = hidden || key < row + p.left;
      if (hidden) s[tile].reg[2 * half + e] = kMinusInfinity;
    }
  }
}

}  // namespace fovea
