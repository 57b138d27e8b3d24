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

// Whether a key block has elements that some query does not see.
enum class Blocks : u8 { clean, ragged };

// Scores -> weights, with what was accumulated so far rescaled. `row` is the query of half 0 of block 0.
template <FwdSpec kSpec, Blocks kBlocks>
FOVEA_INLINE void softmax_step(FwdMmaWarp<kSpec>& warp, FwdScores<kSpec>& s, const FwdParams& p, const FwdSequence& seq,
                               i32 row, i32 key0) {
  using Warp = FwdMmaWarp<kSpec>;
  constexpr bool kGeneral = kSpec.score == ScoreForm::general;
  const f32 scale_log2 = kGeneral ? 1.0F : p.scale_log2;
  Array<Array<f32, 2>, Warp::kRowBlocks> seen;
  bool rescale = false;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    if constexpr (kGeneral) {
      FOVEA_UNROLL
      for (i32 i = 0; i < 4 * Warp::kKeyTiles; ++i)
        s[block][i / 4].reg[i % 4] = general_score(s[block][i / 4].reg[i % 4], p);
    }
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      if constexpr (kBlocks == Blocks::ragged) hide_row(s[block], half, seq, row + 16 * block + 8 * half, key0);
      seen[block][half] = row_max(s[block], half, warp.stats[block].max[half]);
      rescale = rescale || outgrown(seen[block][half], warp.stats[block].max[half], scale_log2);
    }
  }
  if (isa::vote_any(rescale)) {
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) {
        const f32 factor = raise_max(warp.stats[block], half, seen[block][half], scale_log2);
        FOVEA_UNROLL
        for (i32 n = 0; n < Warp::kOutTiles; ++n) {
          warp.o[block][n].reg[2 * half] *= factor;
          warp.o[block][n].reg[2 * half + 1] *= factor;
        }
      }
    }
  }
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    weigh_row(s[block], 0, warp.stats[block], scale_log2);
    weigh_row(s[block], 1, warp.stats[block], scale_log2);
  }
}

// Normalises and writes the warp's rows; 16-bit output is only staged, the CTA stores it after a barrier. Rows that are
// no queries are empty rows.
template <FwdSpec kSpec>
FOVEA_INLINE void finish_warp(const FwdMmaWarp<kSpec>& warp, const FwdParams& p, const FwdTile& tile, i32 q_used,
                              SmemPtr stage, i32 warp_row) {
  using Warp = FwdMmaWarp<kSpec>;
  const u32 lane = isa::laneid();
  f32 sink_log2 = kMinusInfinity;
  if (p.sink != nullptr) sink_log2 = isa::ld_global<f32>(p.sink + tile.head_q * p.sink_stride) * kLog2E;
  const LdmatrixView<kSpec.o_tile(), LdmatrixPattern::a_row_major> o_view(stage);
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    Array<f32, 2> factor;
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const i32 row = warp_row + 16 * block + 8 * half + static_cast<i32>(lane >> 2U);
      const i64 query = tile.row0 + row;
      const f32 max_log2 = warp.stats[block].max[half] * (kSpec.score == ScoreForm::general ? 1.0F : p.scale_log2);
      const f32 sum = quad_sum(warp.stats[block].sum[half]);
      const RowResult result = query < q_used ? finish_row(max_log2, sum, sink_log2) : kEmptyRow;
      const bool inside = query < p.seqlen_q;
      if (p.lse != nullptr && inside && (lane & 3U) == 0) {
        isa::st_global<f32>(p.lse + tile.batch * p.lse_b + tile.head_q * p.lse_h + query * p.lse_s, result.lse);
      }
      if constexpr (kSpec.out == Element::fp32) {
        f32* out = static_cast<f32*>(p.out.data) + tile.batch * p.out.stride_b + tile.head_q * p.out.stride_h;
        if (inside) store_row_f32<kSpec>(out + query * p.out.stride_s, warp.o[block], half, result.factor);
      }
      factor[half] = result.factor;
    }
    if constexpr (kSpec.out != Element::fp32) {
      stage_block<kSpec>(o_view, static_cast<u32>(warp_row + 16 * block), warp.o[block], factor);
    }
  }
}

// Rows of one head of one batch entry, from its first row on.
FOVEA_INLINE GmemRows<16> rows_of(const RowTensor& tensor, i32 batch, i32 head) {
  const i64 element = batch * tensor.stride_b + head * tensor.stride_h;
  return {static_cast<const u8*>(tensor.data) + 2 * element, 2 * tensor.stride_s};
}

template <FwdSpec kSpec>
FOVEA_INLINE void fwd_mma(const FwdParams& p) {
  static_assert(well_formed(kSpec));
  using Warp = FwdMmaWarp<kSpec>;
  constexpr SmemPlan kSmem = plan_smem(kSpec);
  constexpr i32 kAhead = kSpec.stages - 1;  // stages that are loaded before they are needed
  const SmemPtr smem{isa::smem_base()};
  const FwdTile tile = fwd_tile<kSpec.tile_m>(p);
  const FwdSequence seq = fwd_sequence(p, tile.batch);
  const KeyBlocks blocks = key_blocks<kSpec>(seq, tile.row0);
  const i32 steps = blocks.last - blocks.first;  // from the last block to the first
  const i32 warp_row = static_cast<i32>(isa::tid_x() / 32U) * kSpec.rows_per_warp;

  const RowCopy<kSpec.k_tile(), kSpec.head_dim_qk, kSpec.threads(), 16> k_copy(rows_of(p.k, tile.batch, tile.head_kv));
  const RowCopy<kSpec.v_tile(), kSpec.head_dim_v, kSpec.threads(), 16> v_copy(rows_of(p.v, tile.batch, tile.head_kv));
  const auto stage_at = [&](i32 slot) { return smem + kSmem.stage0 + static_cast<u32>(slot) * kSmem.stage_bytes; };
  const auto load_block = [&](i32 step, i32 slot) {
    if (step < steps) {
      const i32 key0 = (blocks.last - 1 - step) * kSpec.tile_n;
      k_copy.copy(stage_at(slot), key0, seq.kv_used - key0);
      v_copy.copy(stage_at(slot) + kSmem.v_in_stage, key0, seq.kv_used - key0);
    }
    isa::cp_async_commit_group();
  };

  RowCopy<kSpec.q_tile(), kSpec.head_dim_qk, kSpec.threads(), 16>(rows_of(p.q, tile.batch, tile.head_q))
      .copy(smem + kSmem.q, tile.row0, seq.q_used - tile.row0);
  for (i32 step = 0; step < kAhead; ++step) load_block(step, step);  // Q belongs to the first group

  Warp warp;
  FOVEA_UNROLL
  for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
    warp.stats[block] = empty_rows();
    FOVEA_UNROLL
    for (i32 n = 0; n < Warp::kOutTiles; ++n) warp.o[block][n] = zero_accumulator();
  }
  const QView<kSpec> q_view(smem + kSmem.q + static_cast<u32>(warp_row) * SmemTile::kRowBytes);
  const i32 lane_row0 = tile.row0 + warp_row + static_cast<i32>(isa::laneid() >> 2U);
  i32 slot = 0;            // of the step that is computed
  i32 next_slot = kAhead;  // of the step that is loaded meanwhile
  i32 step = 0;
  const auto run_until = [&]<Blocks kBlocks>(i32 last_step) {
    for (; step < last_step; ++step) {
      isa::cp_async_wait_group<kAhead - 1>();  // this step's tiles have landed for this thread,
      isa::syncthreads();                      // for all; and all are done with the stage that is filled next
      load_block(step + kAhead, next_slot);
      FwdScores<kSpec> s;
      score_product<kSpec>(s, q_view, KView<kSpec>(stage_at(slot)));
      softmax_step<kSpec, kBlocks>(warp, s, p, seq, lane_row0, (blocks.last - 1 - step) * kSpec.tile_n);
      value_product<kSpec>(warp, s, VView<kSpec>(stage_at(slot) + kSmem.v_in_stage));
      next_slot = slot;
      slot = slot == kSpec.stages - 1 ? 0 : slot + 1;
    }
  };
  // Ragged blocks at the right edge, clean ones, ragged ones at the left edge; each kind of loop exists once.
  const i32 clean_begin = blocks.last - blocks.clean_last;
  const i32 clean_end = blocks.last - blocks.clean_first;
  while (step < steps) {
    if (step >= clean_begin) run_until.template operator()<Blocks::clean>(clean_end);
    run_until.template operator()<Blocks::ragged>(step < clean_begin ? clean_begin : steps);
  }

  isa::cp_async_wait_group<0>();
  isa::syncthreads();  // nobody reads Q, K or V any more: their space takes the output
  finish_warp<kSpec>(warp, p, tile, seq.q_used, smem, warp_row);
  if constexpr (kSpec.out != Element::fp32) {
    isa::syncthreads();
    i64 element = tile.batch * p.out.stride_b + tile.head_q * p.out.stride_h + tile.row0 * p.out.stride_s;
    store_rows<kSpec>(smem, static_cast<u8*>(p.out.data) + 2 * element, 2 * p.out.stride_s, p.seqlen_q - tile.row0);
  }
}

}  // namespace fovea::kernels
