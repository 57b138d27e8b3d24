// wgmma on typed operands: tiles in shared memory with their major axis in the type, accumulators of 64 rows per
// warpgroup, and the accumulator of one product as A of the next. Nothing here waits or fences; see isa/wgmma.h.
#pragma once

#include "layout/wgmma_operand.h"
#include "spec/fwd_spec.h"
#include "tile/mma.h"

namespace fovea {

// A tile in shared memory as wgmma names it. A product accepts the major axis that it needs.
template <SmemTile kTile, Major kMajor>
struct WgmmaOperand {
  static constexpr u64 kFields = wgmma_descriptor(kTile, kMajor);
  u32 low;  // the half of the descriptor that holds the address, which fills 14 bits of it at most

  // `tile` is a multiple of 1024, below 256 KB.
  FOVEA_INLINE explicit WgmmaOperand(SmemPtr tile) : low(static_cast<u32>(kFields) | (tile.address >> 4U)) {}
  FOVEA_INLINE u64 at(u32 mn, u32 k) const {
    return (kFields >> 32U << 32U) | (low + (wgmma_start(kTile, kMajor, mn, k) >> 4U));
  }
};

// 64 rows x kColumns. Register 4 t + 2 half + e: column 8 t + 2 (lane % 4) + e, row lane / 4 + 8 half of the warp's 16.
template <i32 kColumns>
struct WgmmaAcc {
  static constexpr FragmentMap kMap = kWgmmaD32N16;  // of every 16 columns
  Array<f32, kColumns / 2> reg;

  FOVEA_INLINE f32& at(i32 tile, i32 half, i32 element) { return reg[4 * tile + 2 * half + element]; }
  FOVEA_INLINE f32 at(i32 tile, i32 half, i32 element) const { return reg[4 * tile + 2 * half + element]; }
  // Keeps the compiler from moving what reads the registers to before this place.
  FOVEA_INLINE void fence() {
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 2; ++i) isa::wgmma_fence_operand(reg[i]);
  }
  FOVEA_INLINE void clear() {
    FOVEA_UNROLL
    for (i32 i = 0; i < kColumns / 2; ++i) reg[i] = 0.0F;
  }
};

// As value_classes.h names them.
template <i32 kColumns>
FOVEA_INLINE f32& accumulator(WgmmaAcc<kColumns>& c, i32 i) {
  return c.reg[i];
}
template <i32 kColumns>
FOVEA_INLINE f32 accumulator(const WgmmaAcc<kColumns>& c, i32 i) {
  return c.reg[i];
}

using FragWgmmaA = Fragment<kWgmmaA16, u32>;

// Columns [16 step, 16 step + 16) of an accumulator, narrowed.
template <Element kElement, i32 kColumns>
FOVEA_INLINE FragWgmmaA as_a_operand(const WgmmaAcc<kColumns>& c, i32 step) {
  static_assert(narrowed(WgmmaAcc<kColumns>::kMap) == FragWgmmaA::kMap);
  FragWgmmaA a;
  FOVEA_UNROLL
  for (i32 r = 0; r < 4; ++r) a.reg[r] = pack2<kElement>(c.reg[8 * step + 2 * r], c.reg[8 * step + 2 * r + 1]);
  return a;
}

// d = A[row..row + 63] B^T over all columns of the tiles: both operands K-major. B has kColumns rows.
template <Element kElement, i32 kColumns, SmemTile kA, SmemTile kB>
FOVEA_INLINE void product(WgmmaAcc<kColumns>& d, const WgmmaOperand<kA, Major::k>& a, u32 row,
                          const WgmmaOperand<kB, Major::k>& b) {
  static_assert(kA.cols == kB.cols && kB.rows == kColumns);
  FOVEA_UNROLL
  for (u32 k = 0; k < static_cast<u32>(kA.cols); k += 16) {
    if constexpr (kElement == Element::bf16) {
      isa::wgmma_m64k16_f32_bf16_ss<kColumns, 0, 0>(d.reg, a.at(row, k), b.at(0, k), k != 0);
    } else {
      isa::wgmma_m64k16_f32_f16_ss<kColumns, 0, 0>(d.reg, a.at(row, k), b.at(0, k), k != 0);
    }
  }
}

// d += A B for 16 columns of A, in registers, and as many rows of B from `row` on. B is MN-major and has kColumns
// columns.
template <Element kElement, i32 kColumns, SmemTile kB>
FOVEA_INLINE void add_product(WgmmaAcc<kColumns>& d, const FragWgmmaA& a, const WgmmaOperand<kB, Major::mn>& b,
                              u32 row) {
  static_assert(kB.cols == kColumns);
  if constexpr (kElement == Element::bf16) {
    isa::wgmma_m64k16_f32_bf16_rs<kColumns, 1>(d.reg, a.reg, b.at(0, row), true);
  } else {
    isa::wgmma_m64k16_f32_f16_rs<kColumns, 1>(d.reg, a.reg, b.at(0, row), true);
  }
}

}  // namespace fovea
