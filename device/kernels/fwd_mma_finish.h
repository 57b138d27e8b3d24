// The end of a warp's work in fwd_mma: lse and rows of out, from what it has accumulated.
#pragma once

#include "attention/epilogue.h"
#include "kernels/fwd_mma_warp.h"

namespace fovea::kernels {

// Normalises and writes the warp's rows; 16-bit output is only staged, the CTA stores it after a barrier. Rows that are
// no queries are empty rows. `row` is the lane's first, `warp_row` the warp's first row in the tile.
template <FwdSpec kSpec>
FOVEA_INLINE void finish_warp(FwdMmaWarp<kSpec>& warp, const FwdTask& task, i32 row, SmemPtr stage, i32 warp_row) {
  using Warp = FwdMmaWarp<kSpec>;
  const FwdParams& p = task.p;
  f32 sink = kMinusInfinity;
  if (kSpec.rows == Rows::head && p.sink != nullptr) {
    sink = isa::ld_global<f32>(p.sink + task.tile.head_q * p.sink_stride);
  }
  const LdmatrixView<kSpec.o_tile(), LdmatrixPattern::a_row_major> o_view(stage);
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const RowPlace place = row_place<kSpec>(p, task.seq, task.tile, row + 16 * block + 8 * half);
      const bool inside = place.query < task.seq.q_rows;
      if (kSpec.rows == Rows::group && p.sink != nullptr) {
        sink = isa::ld_global<f32>(p.sink + place.head * p.sink_stride);
      }
      const f32 max = warp.stats[block].max[half];
      const f32 sum = quad_sum(warp.stats[block].sum[half]);
      const RowResult result =
          place.query < task.seq.q_used ? finish_row(max * natural_scale<kSpec>(p), sum, sink) : kEmptyRow;
      if (p.lse != nullptr && inside && (isa::laneid() & 3U) == 0) {
        f32* lse = lse_of(p, task.seq, task.tile, place);
        if (p.num_splits == 1) {
          isa::st_global<f32>(lse, result.lse);
        } else {
          const bool query = place.query < task.seq.q_used;
          isa::st_global<f32>(lse, query ? max * natural_scale<kSpec>(p) : kMinusInfinity);
          isa::st_global<f32>(lse + 1, query ? sum : 0.0F);
        }
      }
      scale_row(warp.o[block], half, result.factor);
      if (p.out_f32 != 0 && inside) {
        f32* out = static_cast<f32*>(p.out.data) + place.out;
        store_row_f32<kSpec>(out, warp.o[block], half, p.head_dim_v);
      }
    }
    if (p.out_f32 == 0) stage_block<kSpec>(o_view, static_cast<u32>(warp_row + 16 * block), warp.o[block]);
  }
}

}  // namespace fovea::kernels
