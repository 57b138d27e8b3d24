// Global rows into a swizzled shared tile by cp.async, zero-filled where the tensor ends. The alignment that the plan
// has proven for a tensor is part of the source's type: a 16-byte copy from a less aligned one does not compile.
#pragma once

#include "isa/isa.h"
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

// Copies tiles of rows with all kThreads threads of the CTA: kCols elements of each row, columns up to kTile.cols zero.
// A thread keeps its 16-byte column and goes down the rows in steps of kStep, so that all addresses of a tile follow
// from one by adding constants. The copies belong to the caller's open cp.async group.
template <SmemTile kTile, i32 kCols, i32 kThreads, i32 kAlign>
class RowCopy {
  static_assert(kAlign >= 16, "a 16-byte cp.async needs rows aligned to 16 bytes");
  static constexpr i32 kChunks = kTile.cols / 8;
  static constexpr i32 kColumns = next_power_of_two(kChunks);  // threads side by side; those past kChunks idle
  static constexpr i32 kStep = kThreads / kColumns;
  static constexpr i32 kPasses = ceil_div(kTile.rows, kStep);
  static constexpr bool kEveryThread = kColumns == kChunks && kTile.rows % kStep == 0;
  static_assert(kThreads % kColumns == 0);

 public:
  FOVEA_INLINE explicit RowCopy(const GmemRows<kAlign>& source) {
    const i32 thread = static_cast<i32>(isa::tid_x());
    row_ = thread / kColumns;
    chunk_ = thread % kColumns;
    source_ = source.data + row_ * source.stride_bytes + 16 * chunk_;
    stride_ = source.stride_bytes;
    target_ = kTile.offset(static_cast<u32>(row_ % kTile.rows), static_cast<u32>(8 * min(chunk_, kChunks - 1)));
  }

  // Source rows [first, first + kTile.rows) -> tile; rows from first + valid on become zero.
  FOVEA_INLINE void copy(SmemPtr tile, i32 first, i32 valid) const {
    const u8* address = source_ + first * stride_;
    const i32 cols_left = kCols - 8 * chunk_;
    const i32 bytes = kCols == 8 * kColumns ? 16 : 2 * max(0, min(8, cols_left));
    FOVEA_UNROLL
    for (i32 pass = 0; pass < kPasses; ++pass, address += kStep * stride_) {
      const i32 row = row_ + pass * kStep;
      if (!kEveryThread && (chunk_ >= kChunks || row >= kTile.rows)) continue;
      // row_ < kStep, a power of two: the swizzle of row_ + pass * kStep is that of row_ XOR that of pass * kStep.
      const u32 swizzle = (static_cast<u32>(pass * kStep) & 7U) << 4U;
      const SmemPtr target = tile + ((target_ ^ swizzle) + static_cast<u32>(pass * kStep) * SmemTile::kRowBytes);
      isa::cp_async_cg(target, address, static_cast<u32>(row < valid ? bytes : 0));
    }
  }

 private:
  const u8* source_;
  i64 stride_;
  i32 row_, chunk_;
  u32 target_;
};

}  // namespace fovea
