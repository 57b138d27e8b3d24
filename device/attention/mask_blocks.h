// Which key blocks of a tile a bool mask leaves something of: a look at the mask ahead of K and V, so that a block
// whose mask is empty costs neither loads nor products, and one whose mask is full no look at single elements.
#pragma once

#include "attention/score_views.h"

namespace fovea {

// Bit i stands for key block last - 1 - i.
struct BlockBits {
  u32 some;   // some row sees some key of it
  u32 every;  // every row sees every key of it, as far as the mask goes
};

inline constexpr i32 kBlocksPerLook = 32;

// Looks at key blocks [first, last) of the tile's mask rows, at most kBlocksPerLook of them. All threads take part;
// `words` is shared memory of two words per warp.
template <FwdSpec kSpec>
FOVEA_INLINE BlockBits mask_blocks(const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, i32 first, i32 last,
                                   SmemPtr words) {
  constexpr i32 kKeysPerLane = 16;
  constexpr i32 kBatch = kSpec.loads == Loads::any ? 1 : 8;
  const i32 lane = static_cast<i32>(isa::laneid());
  const i32 warp = static_cast<i32>(isa::tid_x()) / 32;
  const u8* mask = static_cast<const u8*>(p.mask.data);
  const i64 base = view_base<kSpec>(p.mask, tile);
  const i32 heads = heads_per_tile<kSpec>(p);
  i32 rows = min(kSpec.tile_m, seq.q_used * heads - tile.row0);
  const bool alike = p.mask.stride_q == 0 && (heads == 1 || p.mask.stride_h == 0);
  if (alike) rows = min(rows, 1);
  const bool vector = kSpec.loads != Loads::any || p.mask.vector != 0;
  BlockBits bits{0, ~0U};
  const i32 end = min(min(last * kSpec.tile_n, seq.kv_used), p.mask.keys);
  for (i32 key = first * kSpec.tile_n + kKeysPerLane * lane; key < end; key += 32 * kKeysPerLane) {
    const u32 bit = 1U << static_cast<u32>(last - 1 - key / kSpec.tile_n);
    u32 some = 0;
    u32 every = 0x80808080U;
    for (i32 first_row = warp; first_row < rows; first_row += kBatch * kSpec.warps()) {
      Array<U32x4, kBatch> bytes;  // loads of several rows are under way together
      FOVEA_UNROLL
      for (i32 i = 0; i < kBatch; ++i) {
        const i32 row = tile.row0 + min(first_row + i * kSpec.warps(), rows - 1);
        const i32 query = query_of<kSpec>(p, row);
        const u8* keys = mask + view_row<kSpec>(p.mask, base, head_of<kSpec>(p, tile, row, query), query);
        if (vector) {
          bytes[i] = isa::ld_global_nc<U32x4>(keys + key);
        } else {
          const U32x2 low = mask_bytes(p.mask, keys, false, key);
          const U32x2 high = mask_bytes(p.mask, keys, false, key + 8);  // keys past the end count as hidden
          bytes[i] = {low.x, low.y, high.x, high.y};
        }
      }
      FOVEA_UNROLL
      for (i32 i = 0; i < kBatch; ++i) {
        const U32x4& b = bytes[i];
        some |= b.x | b.y | b.z | b.w;
        every &= nonzero_bytes(b.x) & nonzero_bytes(b.y) & nonzero_bytes(b.z) & nonzero_bytes(b.w);
      }
    }
    if (some != 0) bits.some |= bit;
    if (every != 0x80808080U) bits.every &= ~bit;
  }
  bits.some = isa::redux_or(bits.some);
  bits.every = isa::redux_and(bits.every);
  isa::syncthreads();  // all are done with the words of the last look
  if (lane == 0) isa::st_shared<U32x2>(words + static_cast<u32>(8 * warp), {bits.some, bits.every});
  isa::syncthreads();
  FOVEA_UNROLL
  for (i32 other = 0; other < kSpec.warps(); ++other) {
    const U32x2 found = isa::ld_shared<U32x2>(words + static_cast<u32>(8 * other));
    bits.some |= found.x;
    bits.every &= found.y;
  }
  // Values that the compiler knows to be the same for the warp: loops over them stay uniform.
  return {isa::redux_or(bits.some), isa::redux_or(bits.every)};
}

}  // namespace fovea
