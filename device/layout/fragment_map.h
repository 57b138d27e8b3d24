// FragmentMap: which element of a tile each lane's registers hold. One constant per operand of an instruction; two
// operands are interchangeable exactly when their maps are equal. Maps from the PTX ISA, "Matrix Fragments for
// mma.m16n8k16" and "Register Fragments for wgmma.mma_async.m64nNk16".
#pragma once

#include "layout/linear.h"

namespace fovea {

// Input index: element in a 32-bit register | register | lane (5 bits) | warp of the warpgroup, low bits first.
// Output: row | column << row_bits.
struct FragmentMap {
  i32 element_bits = 0;
  i32 register_bits = 0;
  i32 warp_bits = 0;
  i32 row_bits = 0;
  i32 col_bits = 0;
  Linear map = {};

  constexpr bool operator==(const FragmentMap&) const = default;

  constexpr i32 registers() const { return 1 << register_bits; }
  constexpr i32 rows() const { return 1 << row_bits; }
  constexpr i32 cols() const { return 1 << col_bits; }
  constexpr u32 index(u32 element, u32 reg, u32 lane, u32 warp = 0) const {
    const i32 lane_shift = element_bits + register_bits;
    return element | (reg << element_bits) | (lane << lane_shift) | (warp << (lane_shift + 5));
  }
  constexpr u32 row(u32 index) const { return map(index) & ((1U << row_bits) - 1U); }
  constexpr u32 col(u32 index) const { return map(index) >> row_bits; }
};

namespace layout_detail {
constexpr Linear bits(i32 row_bits, i32 col_bits) {
  return {.in_bits = 0, .out_bits = row_bits + col_bits, .basis = {}};
}
constexpr u32 row(u32 r) { return r; }
// col<row_bits>(c): a column step of c in a tile with that many row bits.
template <i32 kRowBits>
constexpr u32 col(u32 c) {
  return c << kRowBits;
}
// Lane bits 0,1 step the minor index by `minor` and twice that; lane bits 2..4 step the major index by 1, 2, 4.
constexpr Linear with_lanes(Linear map, u32 minor, u32 major) {
  return map.with(minor).with(minor << 1).with(major).with(major << 1).with(major << 2);
}
}  // namespace layout_detail

// A of mma.m16n8k16 with 16-bit elements: rows m, columns k. Registers: row +8, then k +8.
inline constexpr FragmentMap kMmaA16{.element_bits = 1,
                                     .register_bits = 2,
                                     .warp_bits = 0,
                                     .row_bits = 4,
                                     .col_bits = 4,
                                     .map = layout_detail::with_lanes(layout_detail::bits(4, 4)
                                                                          .with(layout_detail::col<4>(1))
                                                                          .with(layout_detail::row(8))
                                                                          .with(layout_detail::col<4>(8)),
                                                                      layout_detail::col<4>(2), layout_detail::row(1))};

// B of mma.m16n8k16 with 16-bit elements: rows n, columns k (that is B transposed, as K lies in memory).
inline constexpr FragmentMap kMmaB16{
    .element_bits = 1,
    .register_bits = 1,
    .warp_bits = 0,
    .row_bits = 3,
    .col_bits = 4,
    .map = layout_detail::with_lanes(
        layout_detail::bits(3, 4).with(layout_detail::col<3>(1)).with(layout_detail::col<3>(8)),
        layout_detail::col<3>(2), layout_detail::row(1))};

// C and D of every m16n8 mma with fp32 accumulators: rows m, columns n.
inline constexpr FragmentMap kMmaC32{
    .element_bits = 0,
    .register_bits = 2,
    .warp_bits = 0,
    .row_bits = 4,
    .col_bits = 3,
    .map =
        layout_detail::with_lanes(layout_detail::bits(4, 3).with(layout_detail::col<4>(1)).with(layout_detail::row(8)),
                                  layout_detail::col<4>(2), layout_detail::row(1))};

// A of mma.m16n8k32 with 8-bit elements.
inline constexpr FragmentMap kMmaA8{.element_bits = 2,
                                    .register_bits = 2,
                                    .warp_bits = 0,
                                    .row_bits = 4,
                                    .col_bits = 5,
                                    .map = layout_detail::with_lanes(layout_detail::bits(4, 5)
                                                                         .with(layout_detail::col<4>(1))
                                                                         .with(layout_detail::col<4>(2))
                                                                         .with(layout_detail::row(8))
                                                                         .with(layout_detail::col<4>(16)),
                                                                     layout_detail::col<4>(4), layout_detail::row(1))};

// D of wgmma m64n16 with fp32 accumulators: four warps of 16 rows; longer N repeats the pattern every 8 columns.
inline constexpr FragmentMap kWgmmaD32N16{
    .element_bits = 0,
    .register_bits = 3,
    .warp_bits = 2,
    .row_bits = 6,
    .col_bits = 4,
    .map = layout_detail::with_lanes(layout_detail::bits(6, 4)
                                         .with(layout_detail::col<6>(1))
                                         .with(layout_detail::row(8))
                                         .with(layout_detail::col<6>(8)),
                                     layout_detail::col<6>(2), layout_detail::row(1))
               .with(layout_detail::row(16))
               .with(layout_detail::row(32))};

static_assert(is_bijection(kMmaA16.map) && is_bijection(kMmaB16.map) && is_bijection(kMmaC32.map));
static_assert(is_bijection(kMmaA8.map) && is_bijection(kWgmmaD32N16.map));

// Narrowing two fp32 registers of neighbouring columns into one 16-bit pair: the map of the packed fragment over two
// adjacent n8 tiles, registers ordered {tile 0 row, tile 0 row+8, tile 1 row, tile 1 row+8}.
constexpr FragmentMap packed_pair(const FragmentMap& c) {
  FragmentMap packed = c;
  packed.element_bits = 1;
  packed.col_bits = c.col_bits + 1;
  packed.map.out_bits = c.map.out_bits + 1;
  Linear map{.in_bits = 0, .out_bits = packed.map.out_bits, .basis = {}};
  for (i32 i = 0; i < c.register_bits; ++i) map = map.with(c.map.basis[i]);
  map = map.with(1U << c.map.out_bits);  // the second tile lies c.cols() to the right
  for (i32 i = c.register_bits; i < c.map.in_bits; ++i) map = map.with(c.map.basis[i]);
  packed.map = map;
  return packed;
}

// The accumulator of Q K^T, packed, is the A operand of P V: no shuffle. For 8-bit operands it is not.
static_assert(packed_pair(kMmaC32) == kMmaA16);

}  // namespace fovea
