// Which keys a query sees under the position rules (docs/contract.md, section 2), per tile and per element. Query i
// sees key j iff 0 <= j < seqlen_kv and, where the band says so, i + left <= j <= i + right.
#pragma once

#include "spec/fwd_params.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// Key blocks [first, last) that some query of a tile sees; every query sees all keys of blocks [clean_first,
// clean_last), so that only the others need a look at single elements.
struct KeyBlocks {
  i32 first, last;
  i32 clean_first, clean_last;
};

// For the queries [row0, row0 + rows), rows >= 1.
template <FwdSpec kSpec>
FOVEA_INLINE KeyBlocks key_blocks(const FwdParams& p, i32 row0, i32 rows) {
  i32 begin = 0, end = p.seqlen_kv;              // seen by some query
  i32 clean_begin = 0, clean_end = p.seqlen_kv;  // seen by every query
  if constexpr (kSpec.band != Band::none) {
    end = min(end, row0 + rows + p.right);
    clean_end = min(clean_end, row0 + 1 + p.right);
  }
  if constexpr (kSpec.band == Band::both) {
    begin = max(begin, row0 + p.left);
    clean_begin = max(clean_begin, row0 + rows - 1 + p.left);
  }
  if (begin >= end) return {0, 0, 0, 0};
  KeyBlocks blocks{begin / kSpec.tile_n, ceil_div(end, kSpec.tile_n), 0, 0};
  blocks.clean_last = max(clean_end, 0) / kSpec.tile_n;
  blocks.clean_first = min(ceil_div(clean_begin, kSpec.tile_n), blocks.clean_last);
  blocks.clean_last = max(blocks.clean_last, blocks.first);
  blocks.clean_first = max(blocks.clean_first, blocks.first);
  return blocks;
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
