// The 16-bit bias of a warp's rows and one key block in shared memory. cp.async brings it while the scores are
// computed, and it is read row by row when they are done: no register waits for it. Every warp copies and reads rows of
// its own.
#pragma once

#include "attention/score_views.h"

namespace fovea {

template <FwdSpec kSpec>
class BiasTile {
  static constexpr i32 kElement = 2;  // bytes
  static constexpr i32 kPieceKeys = 16 / kElement;
  static constexpr i32 kPieces = kSpec.tile_n / kPieceKeys;  // 16 bytes each, of a row
  static constexpr u32 kRowBytes = 16U * static_cast<u32>(kPieces);
  static constexpr i32 kRowsAtOnce = max(32 / kPieces, 1);  // of one copy by all lanes

 public:
  // `warp_row`: the warp's first row in the CTA's tile. `base`: see view_base().
  FOVEA_INLINE BiasTile(SmemPtr tiles, const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, i64 base,
                        i32 warp_row)
      : tile_(tiles + static_cast<u32>(warp_row) * kRowBytes) {
    static_assert(!kSpec.bias_tiles || 32 % kPieces == 0, "a lane copies one column of pieces");
    const i32 lane = static_cast<i32>(isa::laneid());
    const i32 row = tile.row0 + warp_row + lane / kPieces;
    source_ = static_cast<const u8*>(p.bias.data) + kElement * (base + row * p.bias.stride_q);
    step_ = kElement * kRowsAtOnce * p.bias.stride_q;
    rows_ = (p.bias.stride_q == 0 ? seq.q_used : min(seq.q_used, p.bias.rows)) - row;
  }

  // Begins to copy the bias of the warp's rows and the block at key0, with zeros for rows that are no queries. The
  // copies belong to the caller's open cp.async group.
  FOVEA_INLINE void copy(const FwdParams& p, i32 key0) const {
    const i32 lane = static_cast<i32>(isa::laneid());
    const i32 piece = lane % kPieces;
    const i32 key = min(key0 + piece * kPieceKeys, p.bias.keys - kPieceKeys);  // position rules hide keys past the end
    const u8* source = source_ + kElement * key;
    FOVEA_UNROLL
    for (i32 row = 0; row < kSpec.rows_per_warp; row += kRowsAtOnce, source += step_) {
      isa::cp_async_cg(place(row + lane / kPieces, piece), source, row < rows_ ? 16U : 0U);
    }
  }

  // The lane's eight keys of 32-key group `group`, of the warp's row `row`.
  FOVEA_INLINE BiasWords read(i32 row, i32 group) const {
    const i32 first = group * 32 / kPieceKeys + lane_first_key(isa::laneid()) / kPieceKeys;
    const U32x4 words = isa::ld_shared<U32x4>(place(row, first));
    return {{words.x, words.y, words.z, words.w, 0, 0, 0, 0}};
  }

 private:
  // Where rows are whole bank lines apart, neighbours exchange pieces: four lanes of each of two rows read at a time.
  FOVEA_INLINE SmemPtr place(i32 row, i32 piece) const {
    constexpr i32 kExchange = kRowBytes % 128 != 0 ? 0 : 4;
    return tile_ + static_cast<u32>(row) * kRowBytes + 16U * static_cast<u32>(piece ^ (row % 2 * kExchange));
  }

  SmemPtr tile_;
  const u8* source_;  // of the lane's first row, at key 0
  i64 step_;          // bytes to its next one
  i32 rows_;          // queries from its first row on
};

}  // namespace fovea
