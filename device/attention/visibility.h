// Which keys a query sees under the position rules (docs/contract.md, section 2), per tile and per element.
#pragma once

#include "attention/sequence.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// Key blocks [first, last) that some query of a tile sees; every query sees all keys of blocks [clean_first,
// clean_last), so that only the others need a look at single elements.
struct KeyBlocks {
  i32 first, last;
  i32 clean_first, clean_last;
};

// For the queries [row0, row0 + tile_m) of a sequence.
template <FwdSpec kSpec>
FOVEA_INLINE KeyBlocks key_blocks(const FwdSequence& seq, i32 row0) {
  const i32 last_row = min(row0 + kSpec.tile_m, seq.q_used) - 1;
  const i32 begin = max(0, row0 + seq.left);  // seen by some query: [begin, end)
  const i32 end = min(seq.kv_used, last_row + seq.right + 1);
  if (row0 > last_row || begin >= end) return {0, 0, 0, 0};
  const i32 clean_begin = max(0, last_row + seq.left);  // seen by every query
  const i32 clean_end = max(0, min(seq.kv_used, row0 + seq.right + 1));
  KeyBlocks blocks{begin / kSpec.tile_n, ceil_div(end, kSpec.tile_n), 0, 0};
  blocks.clean_last = max(clean_end / kSpec.tile_n, blocks.first);
  blocks.clean_first = max(blocks.first, min(ceil_div(clean_begin, kSpec.tile_n), blocks.clean_last));
  return blocks;
}

// Hides, by -inf, the elements of one row's scores that query `row` does not see. A lane holds two columns of each n8
// tile: key0 + 8*tile + 2*(lane%4) + {0, 1}.
template <i32 kKeyTiles>
FOVEA_INLINE void hide_row(Array<FragC, kKeyTiles>& s, i32 half, const FwdSequence& seq, i32 row, i32 key0) {
  const i32 first = key0 + 2 * static_cast<i32>(isa::laneid() & 3U);
  const i32 begin = row + seq.left - first;  // in columns from the lane's first on
  const i32 end = min(seq.kv_used, row + seq.right + 1) - first;
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    FOVEA_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      if (8 * tile + e < begin || 8 * tile + e >= end) s[tile].reg[2 * half + e] = kMinusInfinity;
    }
  }
}

}  // namespace fovea
