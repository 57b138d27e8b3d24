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
  const u32 length = bytes == 0 ? 0U : static_cast<u32>(kBytes);
  if constexpr (kBytes == 16) {
    isa::cp_async_cg(target, source, length);
  } else {
    FOVEA_UNROLL
    for (i32 at = 0; at < 16; at += kBytes) {
      isa::cp_async_ca<kBytes>(target + static_cast<u32>(at), source + at, length);
    }
  }
}

// Rows of `cols` elements (Loads::any; otherwise all of the tile's) that start at multiples of `align` bytes
// (Loads::any; otherwise 16). Rows [0, valid) go into the tile, the others become zero. All lanes take part in all of
// it.
template <SmemTile kTile, RowOrder kOrder, i32 kThreads, Loads kLoads>
class AnyRowCopy {
  using Map = CopyMap<kTile, kOrder, kThreads>;
  static constexpr bool kAny = kLoads == Loads::any;
  static constexpr i32 kPasses = Map::kPasses;

 public:
  FOVEA_INLINE AnyRowCopy(i32 cols, i32 align)
      : bytes_(kAny ? 2 * max(0, min(8, cols - 8 * map_.chunk())) : 16),
        align_(align),
        ends_whole_(!kAny || cols % 8 == 0) {}

  // Whether rows consist of whole pieces of 16 bytes; copy_narrow() is for others.
  FOVEA_INLINE bool wide() const { return !kAny || (align_ >= 16 && ends_whole_); }

  // wide(): row r starts at first + r * stride.
  FOVEA_INLINE void copy_at_stride(SmemPtr tile, i32 valid, const u8* first, i64 stride) const {
    if (valid <= 1) stride = 0;  // that of a tensor of one row may lead to addresses that no copy may have
    const u8* source = first + map_.row(0) * stride + 16 * map_.chunk();
    FOVEA_UNROLL
    for (i32 pass = 0; pass < kPasses; ++pass, source += Map::kRowsPerPass * stride) {
      copy_whole(tile, pass, source, valid);
    }
  }

  // The row that is the lane's to find, where rows take their time to find: each that a warp copies is found by one
  // lane. Where it starts is `own` below. For other rows than valid ones that is as aligned, and not read.
  FOVEA_INLINE i32 owned_row() const { return map_.owned_row(); }

  // wide().
  FOVEA_INLINE void copy_found(SmemPtr tile, i32 valid, const u8* own) const {
    FOVEA_UNROLL
    for (i32 pass = 0; pass < kPasses; ++pass) copy_whole(tile, pass, source(pass, own), valid);
  }

  // Any row. The end of one is gathered, for no copy may reach past it, and so are rows at 2-byte alignment.
  FOVEA_INLINE void copy_narrow(SmemPtr tile, i32 valid, const u8* own) const {
    const bool gathered = bytes_ % 16 != 0 || align_ < 4;
    const auto pieces = [&]<i32 kBytes>() { for_each_piece(tile, valid, own, !gathered, copy_pieces<kBytes>); };
    if (align_ >= 16) {
      pieces.template operator()<16>();
    } else if (align_ == 8) {
      pieces.template operator()<8>();
    } else if (align_ == 4) {
      pieces.template operator()<4>();
    }
    if (!ends_whole_ || align_ < 4) {
      for_each_piece(tile, valid, own, gathered, [](SmemPtr target, const u8* from, i32 bytes) {
        isa::st_shared<U32x4>(target, gather_elements(from, bytes));
      });
    }
  }

 private:
  // The lane's piece of a row; all lanes take part.
  FOVEA_INLINE const u8* source(i32 pass, const u8* own) const {
    const u32 owner = map_.owner(pass);
    const u64 low = isa::shfl_idx(static_cast<u32>(address_of(own)), owner);
    const u64 high = isa::shfl_idx(static_cast<u32>(address_of(own) >> 32U), owner);
    return reinterpret_cast<const u8*>(high << 32U | low) + 16 * map_.chunk();
  }

  // Calls use(target, source, bytes of 16) where `mine`. Rare, and large when unrolled.
  template <class Use>
  FOVEA_INLINE void for_each_piece(SmemPtr tile, i32 valid, const u8* own, bool mine, const Use& use) const {
    FOVEA_ROLLED
    for (i32 pass = 0; pass < kPasses; ++pass) {
      const u8* from = source(pass, own);
      if (!mine || map_.idle(pass)) continue;
      const bool inside = map_.row(pass) < valid;
      use(map_.target(tile, pass), inside ? from : nullptr, inside ? bytes_ : 0);
    }
  }

  // All 16 bytes of a piece or none, which ptxas has a predicate for: other lengths cost five instructions.
  FOVEA_INLINE void copy_whole(SmemPtr tile, i32 pass, const u8* source, i32 valid) const {
    if (map_.idle(pass)) return;
    isa::cp_async_cg(map_.target(tile, pass), source, bytes_ != 0 && map_.row(pass) < valid ? 16U : 0U);
  }

  Map map_;
  i32 bytes_, align_;
  bool ends_whole_;  // rows end with a whole piece
};

}  // namespace fovea
