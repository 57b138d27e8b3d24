// How wgmma finds an operand in a SmemTile (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout",
// 128-byte swizzle): the fields of its descriptor, and the proof that the instruction reads what the tile put there.
#pragma once

#include "layout/fragment_map.h"
#include "layout/smem_tile.h"

namespace fovea {

// Which index of an operand runs along a tile's rows in memory: k (Q and K: row m or n, column k) or the other one, mn
// (V: row k, column n).
enum class Major : u8 { k, mn };

// Byte offsets of a descriptor. leading: mn-major operands, to the next 64 columns; not read for k-major ones.
struct WgmmaOffsets {
  u32 leading, stride;
};
constexpr WgmmaOffsets wgmma_offsets(const SmemTile& tile, Major major) {
  return {major == Major::k ? 16U : tile.panel_bytes(), 8U * SmemTile::kRowBytes};
}

// Byte offset at which the k16 step of an operand begins: element (mn, k), k a multiple of 16; mn of 8, mn-major of 64.
constexpr u32 wgmma_start(const SmemTile& tile, Major major, u32 mn, u32 k) {
  const u32 row = major == Major::k ? mn : k;
  const u32 col = major == Major::k ? k : mn;
  return col / SmemTile::kPanelCols * tile.panel_bytes() + row * SmemTile::kRowBytes + col % SmemTile::kPanelCols * 2U;
}

// The upper bits of the descriptor, all but the start address.
constexpr u64 wgmma_descriptor(const SmemTile& tile, Major major) {
  const WgmmaOffsets offsets = wgmma_offsets(tile, major);
  return u64{offsets.leading >> 4U} << 16U | u64{offsets.stride >> 4U} << 32U | u64{1} << 62U;
}

namespace layout_detail {
// Where the instruction reads element (mn, k) of a k16 step, before the swizzle of the address.
constexpr u32 wgmma_linear(const WgmmaOffsets& at, Major major, u32 mn, u32 k) {
  if (major == Major::k) return mn % 8 * 128 + mn / 8 * at.stride + 2 * k;
  return 2 * mn % 128 + mn / 64 * at.leading + k % 8 * 128 + k / 8 * at.stride;
}
// Whether all elements of all k16 steps lie where the tile has them; `extent` of the operand in mn.
constexpr bool wgmma_reads(const SmemTile& tile, Major major, u32 extent) {
  const u32 depth = static_cast<u32>(major == Major::k ? tile.cols : tile.rows);
  for (u32 step = 0; step < depth; step += 16) {
    for (u32 mn = 0; mn < extent; ++mn) {
      for (u32 k = 0; k < 16; ++k) {
        const u32 linear = wgmma_start(tile, major, 0, step) + wgmma_linear(wgmma_offsets(tile, major), major, mn, k);
        const u32 read = linear ^ ((linear >> 7U & 7U) << 4U);
        const u32 there = major == Major::k ? tile.offset(mn, step + k) : tile.offset(step + k, mn);
        if (read != there) return false;
      }
    }
  }
  return true;
}
}  // namespace layout_detail
static_assert(layout_detail::wgmma_reads({.rows = 64, .cols = 128}, Major::k, 64));
static_assert(layout_detail::wgmma_reads({.rows = 32, .cols = 128}, Major::mn, 128));

// A warp's fragment of 16 rows, four times: one per warp of a warpgroup, below each other.
constexpr FragmentMap of_warpgroup(const FragmentMap& warp) {
  FragmentMap result = warp;
  result.warp_bits = 2;
  result.row_bits = warp.row_bits + 2;
  result.map = layout_detail::bits(result.row_bits, warp.col_bits);
  for (i32 i = 0; i < warp.map.in_bits; ++i) {
    const u32 image = warp.map.basis[i];
    const u32 rows = image & ((1U << warp.row_bits) - 1U);
    result.map = result.map.with(rows | ((image >> warp.row_bits) << result.row_bits));
  }
  result.map = result.map.with(1U << warp.row_bits).with(2U << warp.row_bits);
  return result;
}

// A of wgmma m64k16 in registers: each warp holds A of mma.m16n8k16.
inline constexpr FragmentMap kWgmmaA16 = of_warpgroup(kMmaA16);

// The map after registers r and r + 1, neighbouring columns, became one register of a 16-bit pair.
constexpr FragmentMap narrowed(const FragmentMap& c) {
  FragmentMap result = c;
  result.element_bits = 1;
  result.register_bits = c.register_bits - 1;
  return result;
}
// Sixteen columns of an accumulator, narrowed, are the A operand of the next product.
static_assert(narrowed(kWgmmaD32N16) == kWgmmaA16);

}  // namespace fovea
