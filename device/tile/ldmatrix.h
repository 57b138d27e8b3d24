// Operand loads: 16 x 16 blocks of a swizzled shared tile into typed fragments. A lane's address is computed once per
// tile; every block after that is one XOR with a constant and an immediate offset.
#pragma once

#include "layout/ldmatrix_pattern.h"
#include "layout/smem_tile.h"
#include "tile/fragment.h"

namespace fovea {

// The lane's view of one tile under one pattern. kTile and kPattern make it a type that only its own loads accept.
template <SmemTile kTile, LdmatrixPattern kPattern>
struct LdmatrixView {
  static_assert(kTile.rows % 16 == 0 && kTile.cols % 16 == 0);
  u32 tile_base;
  u32 lane_base;  // address of the lane's row in the block at (0, 0)

  FOVEA_INLINE explicit LdmatrixView(SmemPtr tile) : tile_base(tile.address) {
    const u32 lane = isa::laneid();
    const u32 row = lane_row(kPattern, lane);
    lane_base = tile.address + row * SmemTile::kRowBytes + ((lane_chunk(kPattern, lane) ^ (row & 7U)) << 4U);
  }

  FOVEA_INLINE SmemPtr tile() const { return {tile_base}; }

  // Address of the block at (row, col), both multiples of 16. The column's chunk is even, so it combines with the
  // lane's swizzled chunk by XOR; the rows are multiples of 8, so the swizzle stays the lane's.
  FOVEA_INLINE SmemPtr at(u32 row, u32 col) const {
    const u32 chunk_bits = ((col % SmemTile::kPanelCols) / 8U) << 4U;
    return {(lane_base ^ chunk_bits) + (col / SmemTile::kPanelCols) * kTile.panel_bytes() + row * SmemTile::kRowBytes};
  }
};

// A[m][k] at (row, col) of the tile.
template <SmemTile kTile>
FOVEA_INLINE FragA load_a(const LdmatrixView<kTile, LdmatrixPattern::a_row_major>& view, u32 row, u32 col) {
  return {isa::ldmatrix_x4(view.at(row, col))};
}

struct FragBPair {
  FragB tile[2];  // n8 tiles at n and n + 8
};

// B[n][k] stored with k contiguous: tiles n = row and row + 8, k = col..col+15.
template <SmemTile kTile>
FOVEA_INLINE FragBPair load_b(const LdmatrixView<kTile, LdmatrixPattern::b_k_major>& view, u32 row, u32 col) {
  const Array<u32, 4> r = isa::ldmatrix_x4(view.at(row, col));
  return {{{{{r[0], r[1]}}}, {{{r[2], r[3]}}}}};
}

// B[k][n] stored with n contiguous (V): tiles n = col and col + 8, k = row..row+15.
template <SmemTile kTile>
FOVEA_INLINE FragBPair load_b(const LdmatrixView<kTile, LdmatrixPattern::b_n_major>& view, u32 row, u32 col) {
  const Array<u32, 4> r = isa::ldmatrix_x4_trans(view.at(row, col));
  return {{{{{r[0], r[1]}}}, {{{r[2], r[3]}}}}};
}

}  // namespace fovea
