// The end of a forward tile: join the sink, normalise, write lse and the output. 16-bit outputs go through shared
// memory, so that global stores are whole 16-byte pieces of rows; fp32 outputs are stored from registers.
#pragma once

#include "attention/softmax.h"
#include "layout/smem_tile.h"
#include "tile/mma.h"
#include "tile/store_matrix.h"

namespace fovea {

// What a row's accumulator is multiplied by, and its lse.
struct RowResult {
  f32 factor, lse;
};

inline constexpr RowResult kEmptyRow{0.0F, kMinusInfinity};

// `max_log2` and `sink_log2` in units of log2; `sum` over the whole row. The sink weighs like one more key without a
// value; lse is that of the keys alone.
FOVEA_INLINE RowResult finish_row(f32 max_log2, f32 sum, f32 sink_log2) {
  if (sum == 0.0F) return kEmptyRow;
  const f32 lse_log2 = max_log2 + isa::lg2_approx_ftz(sum);
  return {isa::div_rn(1.0F, sum * (1.0F + isa::ex2_approx_ftz(sink_log2 - lse_log2))), lse_log2 * kLn2};
}

// One 16-row block of a warp's accumulators, scaled and narrowed, into the output tile; factor[h] belongs to rows of
// half h. `view` starts at the block's first row.
template <FwdSpec kSpec, i32 kOutTiles>
FOVEA_INLINE void stage_block(const LdmatrixView<kSpec.o_tile(), LdmatrixPattern::a_row_major>& view, u32 row,
                              const Array<FragC, kOutTiles>& o, const Array<f32, 2>& factor) {
  FOVEA_UNROLL
  for (i32 n = 0; n < kOutTiles; n += 2) {
    Array<FragC, 2> pair;
    FOVEA_UNROLL
    for (i32 i = 0; i < 8; ++i) pair[i / 4].reg[i % 4] = o[n + i / 4].reg[i % 4] * factor[(i / 2) % 2];
    store_matrix<kSpec.store>(view, row, static_cast<u32>(8 * n), as_a_operand<kSpec.out>(pair[0], pair[1]));
  }
}

// Output tile in shared memory -> global rows [0, valid), kSpec.head_dim_v columns, 16 bytes at a time. The last piece
// of a row whose head dim is not a multiple of 8 goes element by element.
template <FwdSpec kSpec>
FOVEA_INLINE void store_rows(SmemPtr tile, u8* out, i64 stride_bytes, i32 valid) {
  constexpr i32 kChunks = ceil_div(kSpec.head_dim_v, 8);
  constexpr i32 kStores = kSpec.tile_m * kChunks;
  const i32 thread = static_cast<i32>(isa::tid_x());
  FOVEA_UNROLL
  for (i32 first = 0; first < kStores; first += kSpec.threads()) {
    const i32 index = first + thread;
    const i32 row = index / kChunks;
    const i32 chunk = index % kChunks;
    if (index >= kStores || row >= valid) continue;
    const SmemPtr source = tile + kSpec.o_tile().offset(static_cast<u32>(row), static_cast<u32>(8 * chunk));
    u8* target = out + row * stride_bytes + 16 * chunk;
    if (8 * chunk + 8 <= kSpec.head_dim_v) {
      isa::st_global<U32x4>(target, isa::ld_shared<U32x4>(source));
    } else {
      for (i32 e = 0; e < kSpec.head_dim_v % 8; ++e) {
        isa::st_global<u16>(target + 2 * e, isa::ld_shared<u16>(source + static_cast<u32>(2 * e)));
      }
    }
  }
}

// fp32 output of one row, straight from the accumulators: two neighbouring columns per lane and n8 tile.
template <FwdSpec kSpec, i32 kOutTiles>
FOVEA_INLINE void store_row_f32(f32* row, const Array<FragC, kOutTiles>& o, i32 half, f32 factor) {
  const i32 first = 2 * static_cast<i32>(isa::laneid() & 3U);
  FOVEA_UNROLL
  for (i32 n = 0; n < kOutTiles; ++n) {
    FOVEA_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      const i32 col = 8 * n + first + e;
      if (col < kSpec.head_dim_v) isa::st_global<f32>(row + col, o[n].reg[2 * half + e] * factor);
    }
  }
}

}  // namespace fovea
