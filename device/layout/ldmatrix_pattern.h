// Which row address each lane hands to ldmatrix.x4, and the proof that the registers then form an mma operand. The
// instruction itself only says: register r of lane t holds elements 2(t%4), 2(t%4)+1 of row t/4 of matrix r, whose row
// addresses come from lanes 8r..8r+7 (PTX ISA, ldmatrix).
#pragma once

#include "layout/fragment_map.h"

namespace fovea {

enum class LdmatrixPattern : u8 {
  a_row_major,  // A[m][k]: 16 rows x 16 k
  b_k_major,    // B stored [n][k]: two n8 tiles x 16 k
  b_n_major     // B stored [k][n], read with .trans: 16 k x two n8 tiles
};

// Row and 8-element column chunk, relative to the 16 x 16 block, that lane `lane` addresses.
constexpr u32 lane_row(LdmatrixPattern pattern, u32 lane) {
  if (pattern == LdmatrixPattern::b_k_major) return (lane & 7U) + 8U * (lane >> 4U);
  return lane & 15U;
}
constexpr u32 lane_chunk(LdmatrixPattern pattern, u32 lane) {
  if (pattern == LdmatrixPattern::b_k_major) return (lane >> 3U) & 1U;
  return lane >> 4U;
}

// True if ldmatrix.x4 with this pattern fills, for every lane, registers first..first+n-1 as `map` wants them, where
// the operand's tile starts at row `row0` (A: m, B: n) of the block.
constexpr bool ldmatrix_delivers(LdmatrixPattern pattern, const FragmentMap& map, u32 first, u32 row0) {
  const bool trans = pattern == LdmatrixPattern::b_n_major;
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 reg = 0; reg < static_cast<u32>(map.registers()); ++reg) {
      for (u32 e = 0; e < 2; ++e) {
        const u32 in_row = trans ? 2U * (lane & 3U) + e : lane >> 2U;
        const u32 in_col = trans ? lane >> 2U : 2U * (lane & 3U) + e;
        const u32 source = 8U * (first + reg) + in_row;
        const u32 block_row = lane_row(pattern, source);
        const u32 block_col = 8U * lane_chunk(pattern, source) + in_col;
        const u32 index = map.index(e, reg, lane);
        const u32 want_major = map.row(index) + row0;  // m or n
        const u32 want_k = map.col(index);
        const bool right =
            trans ? (block_row == want_k && block_col == want_major) : (block_row == want_major && block_col == want_k);
        if (!right) return false;
      }
    }
  }
  return true;
}

static_assert(ldmatrix_delivers(LdmatrixPattern::a_row_major, kMmaA16, 0, 0));
static_assert(ldmatrix_delivers(LdmatrixPattern::b_k_major, kMmaB16, 0, 0));
static_assert(ldmatrix_delivers(LdmatrixPattern::b_k_major, kMmaB16, 2, 8));
static_assert(ldmatrix_delivers(LdmatrixPattern::b_n_major, kMmaB16, 0, 0));
static_assert(ldmatrix_delivers(LdmatrixPattern::b_n_major, kMmaB16, 2, 8));
static_assert(!ldmatrix_delivers(LdmatrixPattern::b_k_major, kMmaA16, 0, 0), "a K-major B is no A");

}  // namespace fovea
