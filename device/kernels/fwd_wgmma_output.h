// Output rows of fwd_wgmma: a warp's 16 rows go from registers through its own part of shared memory, in bulk by TMA
// where the tensor's rows allow it.
#pragma once

#include "attention/epilogue.h"
#include "attention/value_classes.h"
#include "kernels/fwd_wgmma_ring.h"
#include "tile/store_matrix.h"
#include "tile/wgmma.h"

namespace fovea::kernels {

// What a warp has room for: its rows, 128 columns of them at once.
template <FwdSpec kSpec>
inline constexpr SmemTile kWarpOut{.rows = 16, .cols = kSpec.o_tile().cols};

// A piece of the output: the warp's 16 rows from `row` of the sequence on, columns from `col` on, in shared memory.
struct StagedRows {
  SmemPtr tile;
  i32 row, col;
};

// As far as the tensor has its rows and columns.
template <FwdSpec kSpec>
FOVEA_INLINE void send_rows(const FwdWgmmaParams& p, const WgmmaWork& work, const StagedRows& staged) {
  FOVEA_UNROLL
  for (i32 panel = 0; panel < kWarpOut<kSpec>.panels(); ++panel) {
    const i32 col = staged.col + 64 * panel;
    if (col >= p.fwd.head_dim_v) break;
    const SmemPtr from = staged.tile + static_cast<u32>(panel) * kWarpOut<kSpec>.panel_bytes();
    const i32 query = work.seq.q_begin + query_of<kSpec>(p.fwd, staged.row);
    if constexpr (kSpec.rows == Rows::head) {
      isa::tma_store_4d(&p.out, from, col, query, work.tile.head_q, work.seq.q_batch);
    } else {
      isa::tma_store_4d(&p.out, from, col, work.tile.head_q, query, work.seq.q_batch);
    }
  }
  isa::bulk_commit_group();
}

// The rows that the sequence has, in pieces of 16 bytes.
template <FwdSpec kSpec>
FOVEA_INLINE void copy_rows(const FwdWgmmaParams& p, const WgmmaWork& work, const StagedRows& staged) {
  constexpr i32 kPieces = kWarpOut<kSpec>.cols / 8;
  FOVEA_ROLLED
  for (i32 i = static_cast<i32>(isa::laneid()); i < kWarpOut<kSpec>.rows * kPieces; i += 32) {
    const i32 row = staged.row + i / kPieces;
    if (row >= work.seq.q_rows) break;
    const i32 piece = i % kPieces * 8;
    if (staged.col + piece >= p.fwd.head_dim_v) continue;
    const i64 element = row_place<kSpec>(p.fwd, work.seq, work.tile, row).out + staged.col + piece;
    const u32 from = kWarpOut<kSpec>.offset(static_cast<u32>(i / kPieces), static_cast<u32>(piece));
    isa::st_global<U32x4>(static_cast<u16*>(p.fwd.out.data) + element, isa::ld_shared<U32x4>(staged.tile + from));
  }
}

// Waits until a warp's earlier rows have left its part of shared memory; `again`: until they are written, as rows that
// go to the same place follow.
FOVEA_INLINE void free_staging(bool again) {
  if (isa::elect_sync()) {
    if (again) isa::bulk_wait_group<0>();
    isa::bulk_wait_group_read<0>();
  }
  isa::bar_warp_sync(0xffffffffU);
}

// Without shared memory. Neighbouring lanes exchange a pair of columns, so that each stores four of a row at a time.
template <FwdSpec kSpec>
FOVEA_INLINE bool store_rows_from_registers(const FwdWgmmaParams& p, const WgmmaWork& work, i32 tile_row,
                                            const WgmmaAcc<kSpec.head_dim_v>& o) {
  const auto lane = static_cast<i32>(isa::laneid());
  const bool odd = lane % 2 != 0;  // takes the second of two n8 tiles
  const i32 row = work.tile.row0 + tile_row + lane / 4;
  u16* const out = static_cast<u16*>(p.fwd.out.data) + row_place<kSpec>(p.fwd, work.seq, work.tile, row).out;
  PairFiniteness<kSpec.element> finiteness;
  FOVEA_UNROLL
  for (i32 i = 0; i < kSpec.head_dim_v / 16; ++i) {
    const Array<u32, 4> pairs = as_a_operand<kSpec.element>(o, i).reg;
    finiteness.add(pairs);
    const i32 col = 16 * i + (odd ? 8 : 0) + 4 * (lane % 4 / 2);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const u32 other = isa::shfl_bfly(odd ? pairs[half] : pairs[half + 2], 1U);
      const U32x2 four = odd ? U32x2{other, pairs[half + 2]} : U32x2{pairs[half], other};
      if (row + 8 * half < work.seq.q_rows && col < p.fwd.head_dim_v) {
        isa::st_global<U32x2>(out + 8 * half * p.fwd.out.stride_s + col, four);
      }
    }
  }
  return finiteness.all();
}

// A warp's rows on their way: those that the tensor, or the sequence in packed storage, has.
template <FwdSpec kSpec>
FOVEA_INLINE void begin_to_send(const FwdWgmmaParams& p, const WgmmaWork& work, const StagedRows& staged) {
  if (p.fwd.cu_q == nullptr || staged.row + 16 <= work.seq.q_rows) {
    const bool some = query_of<kSpec>(p.fwd, staged.row) < work.seq.q_rows;
    if (isa::elect_sync() && some) send_rows<kSpec>(p, work, staged);
  } else {  // the rows behind are the next sequence's
    copy_rows<kSpec>(p, work, staged);
  }
}

// Columns from `col` on into the warp's part of shared memory, as many as it has room for.
template <FwdSpec kSpec>
FOVEA_INLINE void stage_rows(SmemPtr staged, i32 col, const WgmmaAcc<kSpec.head_dim_v>& o,
                             PairFiniteness<kSpec.element>& finiteness) {
  const LdmatrixView<kWarpOut<kSpec>, LdmatrixPattern::a_row_major> view(staged);
  FOVEA_UNROLL
  for (i32 at = 0; at < min(kWarpOut<kSpec>.cols, kSpec.head_dim_v - col); at += 16) {
    const FragA rows{as_a_operand<kSpec.element>(o, (col + at) / 16).reg};
    finiteness.add(rows.reg);
    store_matrix<Store::stmatrix>(view, 0, static_cast<u32>(at), rows);
  }
  isa::fence_proxy_async_shared_cta();
}

// `tile_row` is the warp's first in the tile, `staged` its part of shared memory, which is free. Returns whether the
// lane's elements are finite.
template <FwdSpec kSpec>
FOVEA_INLINE bool store_rows(const FwdWgmmaParams& p, const WgmmaWork& work, SmemPtr staged, i32 tile_row,
                             const WgmmaAcc<kSpec.head_dim_v>& o) {
  constexpr i32 kCols = kWarpOut<kSpec>.cols;
  const i32 first = work.tile.row0 + tile_row;
  PairFiniteness<kSpec.element> finiteness;
  FOVEA_UNROLL
  for (i32 col = 0; col < kSpec.head_dim_v; col += kCols) {
    if (col > 0) free_staging(false);
    stage_rows<kSpec>(staged, col, o, finiteness);
    isa::bar_warp_sync(0xffffffffU);
    begin_to_send<kSpec>(p, work, {staged, first, col});
  }
  return finiteness.all();
}

}  // namespace fovea::kernels
