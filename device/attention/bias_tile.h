// The 16-bit bias of a warp's rows and one key block in shared memory, which cp.async brings: no register waits for it.
// Each lane copies the pieces that it reads, of the scores that it computes, and nobody else reads them.
#pragma once

#include "attention/score_views.h"

namespace fovea {

template <FwdSpec kSpec>
class BiasTile {
  static constexpr i32 kRows = kSpec.rows_per_warp / 8;  // of a lane, 8 apart
  static constexpr i32 kGroups = kSpec.tile_n / 32;      // of 32 keys, a piece of eight for each lane
  static constexpr u32 kPieceBytes = 32 * 16;            // the same piece of all lanes
  static constexpr u32 kRowBytes = static_cast<u32>(kGroups) * kPieceBytes;
  static constexpr u32 kWarpBytes = static_cast<u32>(kRows) * kRowBytes;
  static constexpr u32 kBlockBytes = static_cast<u32>(kSpec.warps()) * kWarpBytes;

 public:
  // `warp_row`: the warp's first row in the CTA's tile. `base`: see view_base().
  FOVEA_INLINE BiasTile(SmemPtr tiles, const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, i64 base,
                        i32 warp_row) {
    const ScoreTensor& bias = p.bias;
    const i32 lane = static_cast<i32>(isa::laneid());
    const i32 row = tile.row0 + warp_row + lane / 4;
    const bool one_row = bias.stride_q == 0;
    pieces_ = tiles + (static_cast<u32>(warp_row / kSpec.rows_per_warp) * kWarpBytes + 16U * isa::laneid());
    row_bytes_ = one_row ? 0U : kRowBytes;
    source_ = static_cast<const u8*>(bias.data) + 2 * (base + row * bias.stride_q + lane_first_key(isa::laneid()));
    step_ = 2 * 8 * bias.stride_q;
    rows_ = (one_row ? seq.q_used : min(seq.q_used, bias.rows)) - row;
  }

  // Begins to copy the bias of the warp's rows and the block at key0, with zeros for rows that are no queries and for
  // keys past the end, which position rules hide. The copies belong to the caller's open cp.async group.
  FOVEA_INLINE void copy(const FwdParams& p, i32 key0, i32 slot) const {
    const u8* source = source_ + 2 * static_cast<i64>(key0);
    const i32 keys = p.bias.keys - key0 - lane_first_key(isa::laneid());
    SmemPtr target = pieces_ + static_cast<u32>(slot) * kBlockBytes;
    FOVEA_UNROLL
    for (i32 row = 0; row < kRows; ++row, source += step_, target = target + kRowBytes) {
      FOVEA_UNROLL
      for (i32 group = 0; group < kGroups; ++group) {
        const bool there = 8 * row < rows_ && 32 * group < keys;
        isa::cp_async_cg(target + static_cast<u32>(group) * kPieceBytes, source + 64 * group, there ? 16U : 0U);
      }
      if (row_bytes_ == 0) break;  // one row for all queries
    }
  }

  // The lane's eight keys of 32-key group `group`, of its row `row`, when its own copies have landed.
  FOVEA_INLINE BiasWords read(i32 row, i32 group, i32 slot) const {
    const u32 offset = static_cast<u32>(slot) * kBlockBytes + static_cast<u32>(group) * kPieceBytes;
    const U32x4 words = isa::ld_shared<U32x4>(pieces_ + (static_cast<u32>(row) * row_bytes_ + offset));
    return {{words.x, words.y, words.z, words.w, 0, 0, 0, 0}};
  }

 private:
  SmemPtr pieces_;    // the lane's first
  u32 row_bytes_;     // to those of its next row; 0: there is one row
  const u8* source_;  // of the lane's first row, at its first of the keys
  i64 step_;          // bytes to its next row
  i32 rows_;          // queries from its first row on
};

}  // namespace fovea
