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

// Copies rows [0, kTile.rows) of kCols elements; rows from `valid` on and columns from kCols on become zero. All
// kThreads threads of the CTA take part; the copies belong to the caller's open cp.async group.
template <SmemTile kTile, i32 kCols, i32 kThreads, i32 kAlign>
FOVEA_INLINE void copy_rows(SmemPtr tile, const GmemRows<kAlign>& source, i32 valid) {
  static_assert(kAlign >= 16, "a 16-byte cp.async needs rows aligned to 16 bytes");
  constexpr i32 kChunks = kTile.cols / 8;
  constexpr i32 kCopies = kTile.rows * kChunks;
  const i32 thread = static_cast<i32>(isa::tid_x());
  FOVEA_UNROLL
  for (i32 first = 0; first < kCopies; first += kThreads) {
    const i32 index = first + thread;
    if (kCopies % kThreads != 0 && index >= kCopies) break;
    const i32 row = index / kChunks;
    const i32 chunk = index % kChunks;
    const i32 cols_left = kCols - 8 * chunk;
    const i32 bytes = cols_left >= 8 ? 16 : (cols_left > 0 ? 2 * cols_left : 0);
    const u8* address = source.data + row * source.stride_bytes + 16 * chunk;
    const bool inside = row < valid && bytes > 0;
    isa::cp_async_cg(tile + kTile.offset(static_cast<u32>(row), static_cast<u32>(8 * chunk)),
                     inside ? address : source.data, static_cast<u32>(inside ? bytes : 0));
  }
}

}  // namespace fovea
