// Global rows into a swizzled shared tile by cp.async, zero-filled where the tensor ends. The alignment that the plan
// has proven for a tensor is part of the source's type: a 16-byte copy from a less aligned one does not compile.
// Rows that do not follow each other at one stride, or are not aligned, are for copy_any.h.
#pragma once

#include "isa/isa.h"
#include "layout/key_order.h"
#include "layout/smem_tile.h"

namespace fovea {

// Rows of 16-bit elements in global memory; every row starts at a multiple of kAlign bytes.
template <i32 kAlign>
struct GmemRows {
  const u8* data;
  i64 stride_bytes;
};

constexpr i32 next_power_of_two(i32 x) {
  i32 power = 1;
  while (power < x) power *= 2;
  return power;
}

// plain: row r of the source is row r of the tile (Q). keys: row key_slot(r) (K and V).
enum class RowOrder : u8 { plain, keys };

// Which 16-byte pieces of a tile a thread copies. It keeps its column and goes down the rows in steps of kStep, so that
// all its addresses in a tile follow from one by adding constants.
template <SmemTile kTile, RowOrder kOrder, i32 kThreads>
class CopyMap {
  static constexpr i32 kChunks = kTile.cols / 8;
  static constexpr i32 kColumns = next_power_of_two(kChunks);  // threads side by side; those past kChunks idle
  static constexpr i32 kStep = kThreads / kColumns;
  static constexpr bool kEveryThread = kColumns == kChunks && kTile.rows % kStep == 0;
  static_assert(kThreads % kColumns == 0 && next_power_of_two(kStep) == kStep);
  static constexpr u32 slot(i32 row) {
    return kOrder == RowOrder::keys ? key_slot(static_cast<u32>(row)) : static_cast<u32>(row);
  }

 public:
  static constexpr i32 kPasses = ceil_div(kTile.rows, kStep);
  static constexpr i32 kRowsPerPass = kStep;
  static constexpr i32 kWarpRows = 32 / kColumns;  // that a warp copies in a pass

  FOVEA_INLINE CopyMap() {
    const i32 thread = static_cast<i32>(isa::tid_x());
    row_ = thread / kColumns;
    chunk_ = thread % kColumns;
    target_ = kTile.offset(slot(row_ % kTile.rows), static_cast<u32>(8 * min(chunk_, kChunks - 1)));
  }

  FOVEA_INLINE i32 row(i32 pass) const { return row_ + pass * kStep; }
  FOVEA_INLINE i32 chunk() const { return chunk_; }
  // Each row that a warp copies belongs to one lane, which may find out where it lies: that lane, and a lane's row.
  FOVEA_INLINE u32 owner(i32 pass) const {
    static_assert(kPasses * kWarpRows <= 32, "a row for each lane");
    return static_cast<u32>(pass * kWarpRows) + isa::laneid() / static_cast<u32>(kColumns);
  }
  FOVEA_INLINE i32 owned_row() const {
    const i32 lane = static_cast<i32>(isa::laneid());
    return static_cast<i32>(isa::tid_x()) / 32 * kWarpRows + lane % kWarpRows +
           min(lane / kWarpRows, kPasses - 1) * kStep;
  }
  // Whether the thread has nothing to copy in a pass.
  FOVEA_INLINE bool idle(i32 pass) const { return !kEveryThread && (chunk_ >= kChunks || row(pass) >= kTile.rows); }
  // row_ < kStep, a power of two, and slot() is linear: slot(row_ + pass * kStep) has the bits of both.
  FOVEA_INLINE SmemPtr target(SmemPtr tile, i32 pass) const {
    const u32 step = slot(pass * kStep);
    return tile + ((target_ ^ ((step & 7U) << 4U)) + step * SmemTile::kRowBytes);
  }

 private:
  i32 row_, chunk_;
  u32 target_;
};

// Copies tiles of rows that are as wide as the tile and follow each other at one stride, with all kThreads threads of
// the CTA. The copies belong to the caller's open cp.async group.
template <SmemTile kTile, RowOrder kOrder, i32 kThreads, i32 kAlign>
class RowCopy {
  static_assert(kAlign >= 16, "a 16-byte cp.async needs rows aligned to 16 bytes");
  using Map = CopyMap<kTile, kOrder, kThreads>;

 public:
  FOVEA_INLINE explicit RowCopy(const GmemRows<kAlign>& source)
      : source_(source.data + map_.row(0) * source.stride_bytes + 16 * map_.chunk()), stride_(source.stride_bytes) {}

  // Source rows [first, first + kTile.rows) -> tile; rows from first + valid on become zero.
  FOVEA_INLINE void copy(SmemPtr tile, i32 first, i32 valid) const {
    const u8* address = source_ + first * stride_;
    FOVEA_UNROLL
    for (i32 pass = 0; pass < Map::kPasses; ++pass, address += Map::kRowsPerPass * stride_) {
      if (map_.idle(pass)) continue;
      isa::cp_async_cg(map_.target(tile, pass), address, map_.row(pass) < valid ? 16U : 0U);
    }
  }

 private:
  Map map_;
  const u8* source_;
  i64 stride_;
};

}  // namespace fovea
