// SmemTile: where element (row, column) of a 16-bit tile lies in shared memory. Columns come in panels of 64 (128
// bytes); within a panel rows follow each other and the 16-byte chunks of a row are XOR-ed with its low three bits, so
// that eight rows of one column meet eight different bank groups. The same pattern as TMA's 128-byte swizzle.
#pragma once

#include "layout/linear.h"

namespace fovea {

struct SmemTile {
  static constexpr i32 kPanelCols = 64;
  static constexpr u32 kRowBytes = 128;
  i32 rows = 0;
  i32 cols = 0;

  constexpr bool operator==(const SmemTile&) const = default;

  constexpr i32 panels() const { return ceil_div(cols, kPanelCols); }
  constexpr u32 panel_bytes() const { return static_cast<u32>(rows) * kRowBytes; }
  constexpr u32 bytes() const { return static_cast<u32>(panels()) * panel_bytes(); }

  // Byte offset of element (row, col) from the tile's base, which is a multiple of 1024.
  constexpr u32 offset(u32 row, u32 col) const {
    const u32 chunk = (col % kPanelCols) / 8U;
    return (col / kPanelCols) * panel_bytes() + row * kRowBytes + ((chunk ^ (row & 7U)) << 4U) + (col & 7U) * 2U;
  }
};

// Bank groups (16 bytes of 128) that one 8x8 matrix of ldmatrix touches at (row, col); 8 distinct ones = conflict free.
constexpr i32 distinct_bank_groups(const SmemTile& tile, u32 row, u32 col) {
  u32 seen = 0;
  for (u32 i = 0; i < 8; ++i) seen |= 1U << ((tile.offset(row + i, col) >> 4U) & 7U);
  i32 count = 0;
  for (; seen != 0; seen &= seen - 1U) ++count;
  return count;
}
static_assert(distinct_bank_groups({.rows = 64, .cols = 128}, 8, 72) == 8);

}  // namespace fovea
