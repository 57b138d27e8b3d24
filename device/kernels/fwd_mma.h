// fwd_mma: attention forward with mma.sync and cp.async, SM80 and up. One CTA computes tile_m query rows of one head:
// it keeps Q in shared memory, runs over the key blocks that its rows see, last one first, through a ring of K/V
// stages, and keeps the running softmax and the output in registers (FlashAttention-2, algorithm 1).
#pragma once

#include "attention/epilogue.h"
#include "attention/schedule.h"
#include "attention/softmax.h"
#include "attention/visibility.h"
#include "tile/copy.h"
#include "tile/ldmatrix.h"
#include "tile/mma.h"

namespace fovea::kernels {

// What a warp holds: 16-row blocks of scores and output, and their statistics.
template <FwdSpec kSpec>
struct FwdMmaWarp {
  static constexpr i32 kRowBlocks = kSpec.rows_per_warp / 16;
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.padded_v() / 8;
  Array<Array<FragC, kOutTiles>, kRowBlocks> o;
  Array<RowStats, kRowBlocks> stats;
};

template <FwdSpec kSpec>
using FwdScores = Array<Array<FragC, FwdMmaWarp<kSpec>::kKeyTiles>, FwdMmaWarp<kSpec>::kRowBlocks>;

template <FwdSpec kSpec>
using QView = LdmatrixView<kSpec.q_tile(), LdmatrixPattern::a_row_major>;
template <FwdSpec kSpec>
using KView = LdmatrixView<kSpec.k_tile(), LdmatrixPattern::b_k_major>;
template <FwdSpec kSpec>
using VView = LdmatrixView<kSpec.v_tile(), LdmatrixPattern::b_n_major>;

// S = Q K^T for the warp's rows and one key block.
template <FwdSpec kSpec>
FOVEA_INLINE void score_product(FwdScores<kSpec>& s, const QView<kSpec>& q, const KView<kSpec>& k) {
  using Warp = FwdMmaWarp<kSpec>;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 tile = 0; tile < Warp::kKeyTiles; ++tile) s[block][tile] = zero_accumulator();
  }
  FOVEA_UNROLL
  for (u32 col = 0; col < static_cast<u32>(kSpec.padded_qk()); col += 16) {
    Array<FragA, Warp::kRowBlocks> a;
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) a[block] = load_a(q, static_cast<u32>(16 * block), col);
    FOVEA_UNROLL
    for (i32 tile = 0; tile < Warp::kKeyTiles; tile += 2) {
      const FragBPair b = load_b(k, static_cast<u32>(8 * tile), col);
      FOVEA_UNROLL
      for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
        mma<kSpec.element>(s[block][tile], a[block], b.tile[0]);
        mma<kSpec.element>(s[block][tile + 1], a[block], b.tile[1]);
      }
    }
  }
}

// O += P V for the warp's rows and one key block; P is s, narrowed.
template <FwdSpec kSpec>
FOVEA_INLINE void value_product(FwdMmaWarp<kSpec>& warp, const FwdScores<kSpec>& s, const VView<kSpec>& v) {
  using Warp = FwdMmaWarp<kSpec>;
  FOVEA_UNROLL
  for (i32 tile = 0; tile < Warp::kKeyTiles; tile += 2) {
    Array<FragA, Warp::kRowBlocks> a;
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      a[block] = as_a_operand<kSpec.element>(s[block][tile], s[block][tile + 1]);
    }
    FOVEA_UNROLL
    for (i32 n = 0; n < Warp::kOutTiles; n += 2) {
      const FragBPair b = load_b(v, static_cast<u32>(8 * tile), static_cast<u32>(8 * n));
      FOVEA_UNROLL
      for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
        mma<kSpec.element>(warp.o[block][n], a[block], b.tile[0]);
        mma<kSpec.element>(warp.o[block][n + 1], a[block], b.tile[1]);
      }
    }
  }
}

// Scores -> weights, with what was accumulated so far rescaled. `row` is the query of half 0 of block 0.
template <FwdSpec kSpec>
FOVEA_INLINE void softmax_step(FwdMmaWarp<kSpec>& warp, FwdScores<kSpec>& s, const FwdParams& p, i32 row, i32 key0,
                               bool hide) {
  using Warp = FwdMmaWarp<kSpec>;
  constexpr bool kGeneral = kSpec.score == ScoreForm::general;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    if constexpr (kGeneral) {
      FOVEA_UNROLL
      for (i32 i = 0; i < 4 * Warp::kKeyTiles; ++i) {
        f32& x = s[block][i / 4].reg[i % 4];
        x = general_score(x, p);
      }
    }
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      if (hide) hide_row<kSpec>(s[block], half, p, row + 16 * block + 8 * half, key0);
      const f32 correction = softmax_row(s[block], half, warp.stats[block], kGeneral ? 1.0F : p.scale_log2);
      FOVEA_UNROLL
      for (i32 n = 0; n < Warp::kOutTiles; ++n) {
        warp.o[block][n].reg[2 * half] *= correction;
        warp.o[block][n].reg[2 * half + 1] *= correction;
      }
    }
  }
}

// Normalises and writes the warp's rows; 16-bit output is only staged, the CTA stores it after a barrier.
template <FwdSpec kSpec>
FOVEA_INLINE void finish_warp(const FwdMmaWarp<kSpec>& warp, const FwdParams& p, const FwdTile& tile, SmemPtr stage,
                              i32 warp_row) {
  using Warp = FwdMmaWarp<kSpec>;
  const u32 lane = isa::laneid();
  f32 sink_log2 = 0.0F;
  if constexpr (kSpec.sink == Sink::present) {
    sink_log2 = isa::ld_global<f32>(p.sink + tile.head_q * p.sink_stride) * kLog2E;
  }
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const i32 row = warp_row + 16 * block + 8 * half + static_cast<i32>(lane >> 2U);
      const f32 raw_max = warp.stats[block].max[half];
      const bool seen = raw_max != kMinusInfinity;
      const f32 row_max = kSpec.score == ScoreForm::general || !seen ? raw_max : raw_max * p.scale_log2;
      const RowResult result = finish_row<kSpec>(row_max, quad_sum(warp.stats[block].sum[half]), sink_log2);
      const i64 query = tile.row0 + row;
      const bool inside = query < p.seqlen_q;
      if constexpr (kSpec.lse == Lse::present) {
        if (inside && (lane & 3U) == 0) {
          isa::st_global<f32>(p.lse + tile.batch * p.lse_b + tile.head_q * p.lse_h + query * p.lse_s, result.lse);
        }
      }
      if constexpr (kSpec.out == Element::fp32) {
        f32* out = static_cast<f32*>(p.out.data) + tile.batch * p.out.stride_b + tile.head_q * p.out.stride_h;
        if (inside) store_row_f32<kSpec>(out + query * p.out.stride_s, warp.o[block], half, result.factor);
      } else {
        stage_rows<kSpec>(stage, warp.o[block], half, static_cast<u32>(row), result.factor);
      }
    }
  }
}

FOVEA_INLINE GmemRows<16> rows_of(const RowTensor& tensor, i32 batch, i32 head, i64 row) {
  const i64 element = batch * tensor.stride_b + head * tensor.stride_h + row * tensor.stride_s;
  return {static_cast<const u8*>(tensor.data) + 2 * element, 2 * tensor.stride_s};
}

template <FwdSpec kSpec>
FOVEA_INLINE void fwd_mma(const FwdParams& p) {
  static_assert(well_formed(kSpec));
  using Warp = FwdMmaWarp<kSpec>;
  constexpr SmemPlan kSmem = plan_smem(kSpec);
  const SmemPtr smem{isa::smem_base()};
  const FwdTile tile = fwd_tile<kSpec.tile_m>(p);
  const KeyBlocks blocks = key_blocks<kSpec>(p, tile.row0, min(kSpec.tile_m, p.seqlen_q - tile.row0));
  const i32 warp_row = static_cast<i32>(isa::tid_x() / 32U) * kSpec.rows_per_warp;
  const auto stage = [&](i32 step) {
    return smem + kSmem.stage0 + static_cast<u32>(step % kSpec.stages) * kSmem.stage_bytes;
  };
  const auto load_block = [&](i32 step) {
    const i32 block = blocks.last - 1 - step;
    if (block >= blocks.first) {
      const i32 key0 = block * kSpec.tile_n;
      const i32 valid = p.seqlen_kv - key0;
      copy_rows<kSpec.k_tile(), kSpec.head_dim_qk, kSpec.threads()>(
          stage(step), rows_of(p.k, tile.batch, tile.head_kv, key0), valid);
      copy_rows<kSpec.v_tile(), kSpec.head_dim_v, kSpec.threads()>(stage(step) + kSmem.v_in_stage,
                                                                   rows_of(p.v, tile.batch, tile.head_kv, key0), valid);
    }
    isa::cp_async_commit_group();
  };

  copy_rows<kSpec.q_tile(), kSpec.head_dim_qk, kSpec.threads()>(
      smem + kSmem.q, rows_of(p.q, tile.batch, tile.head_q, tile.row0), p.seqlen_q - tile.row0);
  for (i32 step = 0; step < kSpec.stages - 1; ++step) load_block(step);  // Q belongs to the first group

  Warp warp;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    warp.stats[block] = empty_rows();
    FOVEA_UNROLL
    for (i32 n = 0; n < Warp::kOutTiles; ++n) warp.o[block][n] = zero_accumulator();
  }
  const QView<kSpec> q_view(smem + kSmem.q + static_cast<u32>(warp_row) * SmemTile::kRowBytes);
  const i32 lane_row0 = tile.row0 + warp_row + static_cast<i32>(isa::laneid() >> 2U);
  const i32 steps = blocks.last - blocks.first;
  for (i32 step = 0; step < steps; ++step) {
    isa::cp_async_wait_group<kSpec.stages - 2>();  // this step's tiles have landed for this thread,
    isa::syncthreads();                            // for all; and all are done with the stage that is filled next
    load_block(step + kSpec.stages - 1);
    const i32 key0 = (blocks.last - 1 - step) * kSpec.tile_n;
    FwdScores<kSpec> s;
    score_product<kSpec>(s, q_view, KView<kSpec>(stage(step)));
    softmax_step<kSpec>(warp, s, p, lane_row0, key0, !all_visible<kSpec>(p, tile.row0, key0));
    value_product<kSpec>(warp, s, VView<kSpec>(stage(step) + kSmem.v_in_stage));
  }
  isa::cp_async_wait_group<0>();
  isa::syncthreads();  // nobody reads Q, K or V any more: their space takes the output
  finish_warp<kSpec>(warp, p, tile, smem, warp_row);
  if constexpr (kSpec.out != Element::fp32) {
    isa::syncthreads();
    const GmemRows<16> out = rows_of(p.out, tile.batch, tile.head_q, tile.row0);
    store_rows<kSpec>(smem, const_cast<u8*>(out.data), out.stride_bytes, p.seqlen_q - tile.row0);
  }
}

}  // namespace fovea::kernels
