// Which key blocks of a tile a bool mask leaves something of: a look at the mask ahead of K and V, so that a block
// whose mask is empty costs neither loads nor products, and one whose mask is full no look at single elements.
#pragma once

#include "attention/score_views.h"

namespace fovea {

// Bit i stands for key block last - 1 - i.
struct BlockBits {
  u32 some;   // some row sees some key of it
  u32 every;  // every row sees every key of it, as far as the mask goes, by an odd byte
};

inline constexpr i32 kBlocksPerLook = 32;

// What a lane finds in its column of a tile's mask: the bits of any word, and those of all.
struct ColumnFinds {
  u32 any, all;
};

// Looks at the 16 keys that read(row) gives, of every step-th row from `first` on, below `rows`; loads of kBatch rows
// are under way together.
template <i32 kBatch, class Read>
FOVEA_INLINE ColumnFinds look_down(i32 first, i32 rows, i32 step, const Read& read) {
  ColumnFinds finds{0, ~0U};
  for (i32 row = first; row < rows; row += kBatch * step) {
    Array<U32x4, kBatch> bytes;
    FOVEA_UNROLL
    for (i32 i = 0; i < kBatch; ++i) bytes[i] = read(min(row + i * step, rows - 1));
    FOVEA_UNROLL
    for (i32 i = 0; i < kBatch; ++i) {
      const U32x4& b = bytes[i];
      finds.any |= b.x | b.y | b.z | b.w;
      finds.all &= b.x & b.y & b.z & b.w;
    }
  }
  return finds;
}

// Sixteen bytes of a mask row from a multiple of 16 keys on; see mask_bytes(). words: none that end past the row.
template <ViewReads kReads>
FOVEA_INLINE U32x4 mask_sixteen(const ScoreTensor& mask, const u8* row, i32 key) {
  if constexpr (kReads == ViewReads::vectors) return isa::ld_global_nc<U32x4>(row + key);
  if constexpr (kReads == ViewReads::words) {
    const Array<u32, 4> words = WordRow<1>(row, mask.keys).read<4>(key);
    return {words[0], words[1], words[2], words[3]};
  }
  const U32x2 low = mask_bytes<ViewReads::elements>(mask, row, key);
  const U32x2 high = mask_bytes<ViewReads::elements>(mask, row, key + 8);  // keys past the end count as hidden
  return {low.x, low.y, high.x, high.y};
}

// Looks at key blocks [first, last) of the tile's mask rows, at most kBlocksPerLook of them. All threads take part;
// `words` is shared memory of two words per warp.
template <FwdSpec kSpec>
FOVEA_INLINE BlockBits mask_blocks(const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, i32 first, i32 last,
                                   SmemPtr words) {
  constexpr i32 kKeysPerLane = 16;
  const i32 lane = static_cast<i32>(isa::laneid());
  const i32 warp = static_cast<i32>(isa::tid_x()) / 32;
  const i64 base = view_base<kSpec>(p.mask, tile);
  const i32 heads = heads_per_tile<kSpec>(p);
  i32 rows = min(kSpec.tile_m, seq.q_used * heads - tile.row0);
  const bool alike = p.mask.stride_q == 0 && (heads == 1 || p.mask.stride_h == 0);
  if (alike) rows = min(rows, 1);
  const auto row_at = [&](i32 row) {
    const i32 query = query_of<kSpec>(p, tile.row0 + row);
    const i32 head = head_of<kSpec>(p, tile, tile.row0 + row, query);
    return static_cast<const u8*>(p.mask.data) + view_row<kSpec>(p.mask, base, tile, head, query);
  };
  BlockBits bits{0, ~0U};
  const i32 end = min(min(last * kSpec.tile_n, seq.kv_used), p.mask.keys);
  for (i32 key = first * kSpec.tile_n + kKeysPerLane * lane; key < end; key += 32 * kKeysPerLane) {
    const u32 bit = 1U << static_cast<u32>(last - 1 - key / kSpec.tile_n);
    ViewReads reads = reads_of<kSpec>(p.mask);
    if (reads == ViewReads::words && near_row_end(p.mask, key + kKeysPerLane)) reads = ViewReads::elements;
    ColumnFinds finds;
    read_by<kSpec>(reads, [&]<ViewReads kReads>() {
      constexpr i32 kShare = kSpec.loads == Loads::any ? 2 : 1;  // whose code has all kinds of reads
      constexpr i32 kBatch = kReads == ViewReads::elements ? 1 : (kReads == ViewReads::words ? 8 : 16) / kShare;
      finds = look_down<kBatch>(warp, rows, kSpec.warps(),
                                [&](i32 row) { return mask_sixteen<kReads>(p.mask, row_at(row), key); });
    });
    if (finds.any != 0) bits.some |= bit;
    if ((finds.all & kAllSeen) != kAllSeen) bits.every &= ~bit;
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
