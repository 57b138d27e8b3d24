// Global rows of any kind into a swizzled shared tile: rows found one by one (pages, packed heads), of a length below
// the tile's width, at any alignment. Each alignment class takes the widest copy that it allows: cp.async of 16, 8 or 4
// bytes, or single elements. Rows of 16 bytes at one stride are for copy.h.
#pragma once

#include "spec/fwd_spec.h"
#include "tile/copy.h"

namespace fovea {

// `bytes` of 16 from a source aligned to 2 bytes, the rest zero.
FOVEA_INLINE U32x4 gather_elements(const u8* source, i32 bytes) {
  u32 word[4];
  FOVEA_UNROLL
  for (i32 i = 0; i < 4; ++i) {
    u32 low = 0;
    u32 high = 0;
    if (4 * i < bytes) low = isa::ld_global<u16>(source + 4 * i);
    if (4 * i + 2 < bytes) high = isa::ld_global<u16>(source + 4 * i + 2);
    word[i] = low | (high << 16U);
  }
  return {word[0], word[1], word[2], word[3]};
}

// 16 bytes by pieces of kBytes, or zeros where bytes is 0.
template <i32 kBytes>
FOVEA_INLINE void copy_pieces(SmemPtr target, const u8* source, i32 bytes) {
  FOVEA_UNROLL
  for (i32 at = 0; at < 16; at += kBytes) {
    isa::cp_async_ca<kBytes>(target + static_cast<u32>(at), source + at, bytes == 0 ? 0U : static_cast<u32>(kBytes));
  }
}

// Rows of `cols` elements (Loads::any; otherwise all of the tile's) that start at multiples of `align` bytes
// (Loads::any; otherwise 16). Rows [0, valid) go into the tile, the others become zero.
template <SmemTile kTile, RowOrder kOrder, i32 kThreads, Loads kLoads>
class AnyRowCopy {
  using Map = CopyMap<kTile, kOrder, kThreads>;
  static constexpr bool kAny = kLoads == Loads::any;
  static constexpr i32 kPasses = Map::kPasses;

 public:
  FOVEA_INLINE AnyRowCopy(i32 cols, i32 align)
      : bytes_(kAny ? 2 * max(0, min(8, cols - 8 * map_.chunk())) : 16), align_(align) {}

  // Row r starts at first + r * stride.
  FOVEA_INLINE void copy_at_stride(SmemPtr tile, i32 valid, const u8* first, i64 stride) const {
    if (wide()) {
      if (valid <= 1) stride = 0;  // that of a tensor of one row may lead to addresses that no copy may have
      const u8* source = first + map_.row(0) * stride + 16 * map_.chunk();
      FOVEA_UNROLL
      for (i32 pass = 0; pass < kPasses; ++pass, source += Map::kRowsPerPass * stride) {
        copy_whole(tile, pass, source, valid);
      }
    } else {
      copy_narrow(tile, valid, [&](i32 row) { return first + row * stride; });
    }
  }

  // The row that is the lane's to find; see CopyMap.
  FOVEA_INLINE i32 owned_row() const { return map_.owned_row(); }

  // Row r starts at row_at(r), which takes its time: each row that a warp copies is found by one lane, that of
  // owned_row() starts at `own`. What they are for other rows than valid ones is as aligned, and not read. All lanes
  // take part.
  template <class RowAt>
  FOVEA_INLINE void copy(SmemPtr tile, i32 valid, const u8* own, const RowAt& row_at) const {
    if (!kAny || isa::redux_and(wide() ? 1U : 0U) != 0U) {
      const u64 address = address_of(own);
      FOVEA_UNROLL
      for (i32 pass = 0; pass < kPasses; ++pass) {
        const u32 owner = map_.owner(pass);
        const u64 low = isa::shfl_idx(static_cast<u32>(address), owner);
        const u64 high = isa::shfl_idx(static_cast<u32>(address >> 32U), owner);
        copy_whole(tile, pass, reinterpret_cast<const u8*>(high << 32U | low) + 16 * map_.chunk(), valid);
      }
    } else {
      copy_narrow(tile, valid, row_at);
    }
  }

 private:
  struct Piece {
    const u8* source;
    i32 bytes;  // of 16
  };

  FOVEA_INLINE bool wide() const { return !kAny || (align_ >= 16 && bytes_ % 16 == 0); }

  // All 16 bytes of a piece or none, which ptxas has a predicate for: other lengths cost five instructions.
  FOVEA_INLINE void copy_whole(SmemPtr tile, i32 pass, const u8* source, i32 valid) const {
    if (map_.idle(pass)) return;
    isa::cp_async_cg(map_.target(tile, pass), source, bytes_ != 0 && map_.row(pass) < valid ? 16U : 0U);
  }

  // Rare, and large when unrolled.
  template <class RowAt>
  FOVEA_INLINE void copy_narrow(SmemPtr tile, i32 valid, const RowAt& row_at) const {
    FOVEA_ROLLED
    for (i32 pass = 0; pass < kPasses; ++pass) {
      if (map_.idle(pass)) continue;
      const i32 row = map_.row(pass);
      Piece piece{nullptr, 0};
      if (row < valid && bytes_ != 0) piece = {row_at(row) + 16 * map_.chunk(), bytes_};
      copy_narrow(map_.target(tile, pass), piece);
    }
  }

  // The end of a row is gathered, for no copy may reach past it.
  FOVEA_INLINE void copy_narrow(SmemPtr target, const Piece& piece) const {
    if (piece.bytes % 16 != 0 || align_ < 4) {
      isa::st_shared<U32x4>(target, gather_elements(piece.source, piece.bytes));
    } else if (align_ >= 16) {
      isa::cp_async_cg(target, piece.source, static_cast<u32>(piece.bytes));
    } else if (align_ == 8) {
      copy_pieces<8>(target, piece.source, piece.bytes);
    } else {
      copy_pieces<4>(target, piece.source, piece.bytes);
    }
  }

  Map map_;
  i32 bytes_, align_;
};

}  // namespace fovea
