// Output rows of fwd_wgmma: a warp's 16 rows go from registers through its own part of shared memory, in bulk by TMA
// where the tensor's rows allow it.
#pragma once

#include "attention/epilogue.h"
#include "kernels/fwd_wgmma_ring.h"
#include "tile/store_matrix.h"
#include "tile/wgmma.h"

namespace fovea::kernels {

template <FwdSpec kSpec>
inline constexpr SmemTile kWarpOut{.rows = 16, .cols = kSpec.head_dim_v};

// Rows from `first` of the tensor's, as far as the tensor has them and their columns.
template <FwdSpec kSpec>
FOVEA_INLINE void send_rows(const FwdWgmmaParams& p, const WgmmaWork& work, SmemPtr staged, i32 first) {
  FOVEA_UNROLL
  for (i32 panel = 0; panel < kWarpOut<kSpec>.panels(); ++panel) {
    if (64 * panel >= p.fwd.head_dim_v) break;
    isa::tma_store_4d(&p.out, staged + static_cast<u32>(panel) * kWarpOut<kSpec>.panel_bytes(), 64 * panel,
                      work.seq.q_begin + first, work.tile.head_q, work.seq.q_batch);
  }
  isa::bulk_commit_group();
}

// Those that the sequence has, in pieces of 16 bytes.
template <FwdSpec kSpec>
FOVEA_INLINE void copy_rows(const FwdWgmmaParams& p, const WgmmaWork& work, SmemPtr staged, i32 first) {
  constexpr i32 kPieces = kSpec.head_dim_v / 8;
  FOVEA_ROLLED
  for (i32 i = static_cast<i32>(isa::laneid()); i < kWarpOut<kSpec>.rows * kPieces; i += 32) {
    const i32 row = first + i / kPieces;
    if (row >= work.seq.q_rows) break;
    const u32 piece = static_cast<u32>(i % kPieces * 8);
    if (static_cast<i32>(piece) >= p.fwd.head_dim_v) continue;
    const i64 element = row_place<kSpec>(p.fwd, work.seq, work.tile, row).out + piece;
    isa::st_global<U32x4>(static_cast<u16*>(p.fwd.out.data) + element,
                          isa::ld_shared<U32x4>(staged + kWarpOut<kSpec>.offset(static_cast<u32>(i / kPieces), piece)));
  }
}

// `tile_row` is the warp's first in the tile, `staged` its part of shared memory, which may still be on its way from
// the tile before. `again`: over what was written of the same rows.
template <FwdSpec kSpec>
FOVEA_INLINE void store_rows(const FwdWgmmaParams& p, const WgmmaWork& work, SmemPtr staged, i32 tile_row,
                             const WgmmaAcc<kSpec.head_dim_v>& o, bool again) {
  const i32 first = work.tile.row0 + tile_row;
  if (isa::laneid() == 0) {
    if (again) isa::bulk_wait_group<0>();
    isa::bulk_wait_group_read<0>();
  }
  isa::bar_warp_sync(0xffffffffU);
  const LdmatrixView<kWarpOut<kSpec>, LdmatrixPattern::a_row_major> view(staged);
  FOVEA_UNROLL
  for (i32 step = 0; step < kSpec.head_dim_v / 16; ++step) {
    store_matrix<Store::stmatrix>(view, 0, static_cast<u32>(16 * step), FragA{as_a_operand<kSpec.out>(o, step).reg});
  }
  isa::fence_proxy_async_shared_cta();
  isa::bar_warp_sync(0xffffffffU);
  if (p.fwd.cu_q == nullptr || first + 16 <= work.seq.q_rows) {
    if (isa::laneid() == 0 && first < work.seq.q_rows) send_rows<kSpec>(p, work, staged, first);
  } else {  // packed storage: the rows behind are the next sequence's
    copy_rows<kSpec>(p, work, staged, first);
  }
}

}  // namespace fovea::kernels
