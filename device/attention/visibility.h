// Which keys a query sees under the position rules (docs/contract.md, section 2), per tile and per element. Masks and
// biases are in score_views.h.
#pragma once

#include "attention/schedule.h"
#include "attention/sequence.h"
#include "layout/key_order.h"
#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// Below this many keys a split costs more than it gains.
inline constexpr i32 kMinSplitKeys = 256;

// Key blocks [first, last) that some query of a tile sees; every query sees all keys of blocks [clean_first,
// clean_last), so that only the others need a look at single elements.
struct KeyBlocks {
  i32 first, last;
  i32 clean_first, clean_last;
};

// For queries [first_query, last_query] and keys [first_key, end_key).
template <i32 kTileN>
FOVEA_INLINE KeyBlocks key_blocks(const FwdSequence& seq, i32 first_query, i32 last_query, i32 first_key, i32 end_key) {
  const i32 begin = max(first_key, first_query + seq.left);  // seen by some query: [begin, end)
  const i32 end = min(end_key, last_query + seq.right + 1);
  if (first_query > last_query || begin >= end) return {0, 0, 0, 0};
  const i32 clean_begin = max(first_key, last_query + seq.left);  // seen by every query
  const i32 clean_end = max(0, min(end_key, first_query + seq.right + 1));
  KeyBlocks blocks{begin / kTileN, ceil_div(end, kTileN), 0, 0};
  blocks.clean_last = max(clean_end / kTileN, blocks.first);
  blocks.clean_first = max(blocks.first, min(ceil_div(clean_begin, kTileN), blocks.clean_last));
  return blocks;
}

// For the rows [row0, row0 + tile_m) of a sequence and the keys of the tile's split.
template <FwdSpec kSpec>
FOVEA_INLINE KeyBlocks key_blocks(const FwdParams& p, const FwdSequence& seq, const FwdTile& tile) {
  const i32 first_query = query_of<kSpec>(p, tile.row0);
  const i32 last_query = min(query_of<kSpec>(p, tile.row0 + kSpec.tile_m - 1), seq.q_used - 1);
  i32 split_keys = p.split_keys;
  if (split_keys == 0) split_keys = round_up(max(ceil_div(seq.kv_used, p.num_splits), kMinSplitKeys), kSpec.tile_n);
  const i32 split_begin = tile.split * split_keys;
  const i32 split_end = tile.split == p.num_splits - 1 ? seq.kv_used : min(seq.kv_used, split_begin + split_keys);
  return key_blocks<kSpec.tile_n>(seq, first_query, last_query, split_begin, split_end);
}

// Hides, by -inf, the elements of one row's scores that `query` does not see. A lane holds keys key0 +
// lane_first_key(lane) + fragment_key(tile, element).
template <i32 kKeyTiles>
FOVEA_INLINE void hide_row(Array<FragC, kKeyTiles>& s, i32 half, const FwdSequence& seq, i32 query, i32 key0) {
  const i32 first = key0 + lane_first_key(isa::laneid());
  const i32 begin = query + seq.left - first;  // in keys from the lane's first on
  const i32 end = min(seq.kv_used, query + seq.right + 1) - first;
  FOVEA_UNROLL
  for (i32 tile = 0; tile < kKeyTiles; ++tile) {
    FOVEA_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      if (fragment_key(tile, e) < begin || fragment_key(tile, e) >= end) s[tile].reg[2 * half + e] = kMinusInfinity;
    }
  }
}

}  // namespace fovea
