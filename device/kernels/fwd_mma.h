// fwd_mma: attention forward with mma.sync and cp.async, SM80 and up. One CTA computes tile_m query rows of one
// head, or of the heads that share a kv head: it keeps Q in shared memory, runs over the key blocks that its rows see,
// last one first, through a ring of K/V stages, and keeps the running softmax and the output in registers
// (FlashAttention-2, algorithm 1).
#pragma once

#include "attention/mask_blocks.h"
#include "attention/value_classes.h"
#include "kernels/fwd_mma_finish.h"
#include "kernels/fwd_mma_loads.h"
#include "kernels/fwd_mma_warp.h"

namespace fovea::kernels {

// clean: every query sees every key of the block. ragged: some element is hidden, or has a bias. again: the same in a
// tile that runs again, where those have code of their own. Biased blocks are all ragged: jumps over what only a second
// run needs cost them 10%.
enum class Blocks : u8 { clean, ragged, again };
template <FwdSpec kSpec>
inline constexpr bool kAgainApart = kSpec.begins_with_bias();
// Whether blocks of which a mask hides nothing have code of their own: they are clean, then, where there is no bias.
template <FwdSpec kSpec>
inline constexpr bool kCleanApart = kSpec.score == ScoreForm::masked || kSpec.few_rows_views();
// Whether mask and bias of a block set out before its K and V are waited for: in decoding that wait is most of a step.
template <FwdSpec kSpec>
inline constexpr bool kViewsAhead = kSpec.open_views();
// Whether one place in the code loads K and V: for the first blocks and those behind, clean and ragged. With Loads::any
// such a place is a tenth of a kernel, and of its compilation.
template <FwdSpec kSpec>
inline constexpr bool kLoadsOnce = kSpec.loads == Loads::any;

// One CTA's work on its tile.
template <FwdSpec kSpec>
class FwdMma {
  using Warp = FwdMmaWarp<kSpec>;
  static constexpr SmemPlan kSmem = plan_smem(kSpec);
  static constexpr i32 kAhead = kSpec.stages - 1;  // stages that are loaded before they are needed

 public:
  FOVEA_INLINE FwdMma(const FwdTask& task, SmemPtr smem)
      : task_(task),
        blocks_(key_blocks<kSpec>(task.p, task.seq, task.tile)),
        smem_(smem),
        warp_row_(static_cast<i32>(isa::tid_x() / 32U) * kSpec.rows_per_warp),
        lane_row_(task.tile.row0 + warp_row_ + static_cast<i32>(isa::laneid() >> 2U)),
        keys_(task, smem),
        view_rows_(task, lane_row_),
        bias_tile_(smem + kSmem.bias, task.p, task.seq, task.tile, view_rows_.bias_base(), warp_row_),
        q_view_(smem + kSmem.q + static_cast<u32>(warp_row_) * SmemTile::kRowBytes) {}

  // The tile's sums over its keys. When they are not finite, or some row's maximum is far, again for each class of V
  // elements; see value_classes.h. All threads leave it together, and the stages are free then.
  FOVEA_INLINE void accumulate() {
    load_queries<kSpec>(task_, smem_ + kSmem.q);
    isa::cp_async_commit_group();
    Array<Infinities<Warp::kOutTiles>, Warp::kRowBlocks> infinities;
    while (true) {
      reset();
      if constexpr (kSpec.views()) {
        run_looking();
      } else {
        run_positions();
      }
      isa::cp_async_wait_group<0>();
      if (class_ == ValueClass::finite) break;
      if (class_ == ValueClass::all) {
        f32 zero = 0;
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) zero += finiteness<Warp::kOutTiles>(warp_.o[block]);
        bool again = !(zero == 0.0F);
        for_each_row<kSpec>(0, [&](i32 block, i32 half, i32) {
          const RowStats& stats = warp_.stats[block];
          again = again || is_far<kSpec.element>(stats.max[half], exponent_scale<kSpec>(task_.p)) ||
                  !(stats.sum[half] <= kLostSum);
        });
        // redux: a value that the compiler knows to be the same for the warp, so that loops stay uniform.
        if (isa::redux_or(isa::bar_red_or(0, kSpec.threads(), again) ? 1U : 0U) == 0U) return;
        blocks_.clean_first = blocks_.clean_last = blocks_.first;  // ragged blocks look at the class
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].clear();
      } else {
        FOVEA_UNROLL
        for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].add(warp_.o[block]);
        isa::syncthreads();
      }
      class_ = static_cast<ValueClass>(static_cast<u32>(class_) - 1U);
    }
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) infinities[block].apply(warp_.o[block]);
    isa::syncthreads();
  }

  // Writes the results. Nobody may read Q, K or V any more: their space takes the output.
  FOVEA_INLINE void finish() {
    finish_warp<kSpec>(warp_, task_, lane_row_, smem_, warp_row_);
    if (task_.p.out_f32 != 0) return;
    isa::syncthreads();
    store_rows<kSpec>(smem_, task_.p, task_.seq, task_.tile);
  }

 private:
  FOVEA_INLINE void reset() {
    warp_.looks = true;
    FOVEA_UNROLL
    for (i32 block = 0; block < Warp::kRowBlocks; ++block) {
      warp_.stats[block] = empty_rows();
      FOVEA_UNROLL
      for (i32 n = 0; n < Warp::kOutTiles; ++n) warp_.o[block][n] = zero_accumulator();
    }
  }

  FOVEA_INLINE bool bias_absent() const {
    return kSpec.score == ScoreForm::masked || (kSpec.open_views() && task_.p.bias.data == nullptr);
  }

  // Before the first of a run of steps.
  FOVEA_INLINE void first_slot() {
    slot_ = 0;
    next_slot_ = kAhead;
  }

  // Waits until the next block's tiles are there; the stage that was computed last is then free.
  FOVEA_INLINE void await_block() {
    isa::cp_async_wait_group<kAhead - 1>();  // this step's tiles have landed for this thread,
    isa::syncthreads();                      // for all; and all are done with the stage that is filled next
  }

  // Where products do not begin with it, the bias of this step's block sets out before the K and V tiles of a later
  // one, and has landed before these have.
  static constexpr bool kBiasBehind = kSpec.bias_tiles && !kSpec.begins_with_bias();
  FOVEA_INLINE void load_bias(i32 block) {
    if constexpr (kBiasBehind) {
      bias_tile_.copy(task_.p, block * kSpec.tile_n, 0);
      isa::cp_async_commit_group();
    }
  }
  FOVEA_INLINE void await_bias() {
    if constexpr (kBiasBehind) isa::cp_async_wait_group<1>();
  }
  FOVEA_INLINE i32 bias_slot() const { return kBiasBehind ? 0 : slot_; }

  // Multiplies the queries, which set out before kAhead other groups, by query_scale: each thread those that it copied.
  FOVEA_INLINE void scale_queries() {
    isa::cp_async_wait_group<kAhead>();
    using Map = CopyMap<kSpec.q_tile(), RowOrder::plain, kSpec.threads()>;
    const Map map;
    const auto scaled = [factor = task_.p.query_scale](u32 pair) {
      return pack2<kSpec.element>(half_of_pair(pair, 0, kSpec.element) * factor,
                                  half_of_pair(pair, 1, kSpec.element) * factor);
    };
    FOVEA_UNROLL
    for (i32 pass = 0; pass < Map::kPasses; ++pass) {
      if (map.idle(pass)) continue;
      const SmemPtr chunk = map.target(smem_ + kSmem.q, pass);
      const U32x4 pairs = isa::ld_shared<U32x4>(chunk);
      isa::st_shared<U32x4>(chunk, {scaled(pairs.x), scaled(pairs.y), scaled(pairs.z), scaled(pairs.w)});
    }
  }

  // views: of the block; fetched already where that is done ahead.
  template <Blocks kBlocks>
  FOVEA_INLINE void compute(i32 block, BlockViews<kSpec>& views) {
    constexpr bool kRagged = kBlocks != Blocks::clean;
    const ValueClass value_class = kBlocks == Blocks::ragged && kAgainApart<kSpec> ? ValueClass::all : class_;
    const bool again = kRagged && value_class != ValueClass::all;
    const i32 key0 = block * kSpec.tile_n;
    if (again) {
      keep_class<kSpec>(keys_.v_tile(slot_), value_class, static_cast<i32>(isa::tid_x()), kSpec.threads());
      isa::syncthreads();
    }
    constexpr bool kFetches = kRagged && kSpec.views() && !kViewsAhead<kSpec>;
    if constexpr (kFetches && kSpec.prefetch_views()) views.fetch(task_.p, view_rows_, key0);
    FwdScores<kSpec> s;
    if constexpr (kSpec.begins_with_bias()) {
      views.begin(s, task_.p, bias_tile_, slot_);
    } else {
      clear_scores<kSpec>(s);
    }
    score_product<kSpec>(s, q_view_, KView<kSpec>(keys_.k_tile(slot_)));
    const bool scaled_by_bias = kSpec.score == ScoreForm::biased && !bias_absent() && bias_takes_scale<kSpec>(task_.p);
    if (!kSpec.folded_scale() && !scaled_by_bias) transform_scores<kSpec>(s, task_.p);
    if constexpr (kRagged && kSpec.views()) {
      if constexpr (kFetches && !kSpec.prefetch_views()) views.fetch(task_.p, view_rows_, key0);
      await_bias();
      views.apply(s, task_.p, kSpec.loads == Loads::any || again, bias_tile_, bias_slot());
    }
    if (kRagged && (!kSpec.views() || block < blocks_.clean_first || block >= blocks_.clean_last)) {
      for_each_row<kSpec>(lane_row_, [&](i32 row_block, i32 half, i32 row) {
        hide_row(s[row_block], half, task_.seq, query_of<kSpec>(task_.p, row), key0);
      });
    }
    if (kRagged && counts_keys(value_class)) {
      FOVEA_UNROLL
      for (i32 row_block = 0; row_block < Warp::kRowBlocks; ++row_block) level_visible<Warp::kKeyTiles>(s[row_block]);
    }
    if (kSumsTell<kSpec> && again) {
      raise_maxima<kSpec, true>(warp_, s, task_.p);
    } else if (!kSumsTell<kSpec> || warp_.looks) {
      raise_maxima<kSpec, false>(warp_, s, task_.p);
    }
    if (again) subtract_far_maxima<kSpec>(s, warp_, task_.p);
    value_product<kSpec>(warp_, s, VView<kSpec>(keys_.v_tile(slot_)), task_.p, again);
    if constexpr (kSumsTell<kSpec>) warp_.looks = isa::vote_any(sums_outgrown(warp_)) || warp_.looks;
    advance();
  }

  FOVEA_INLINE void advance() {
    next_slot_ = slot_;
    slot_ = slot_ == kSpec.stages - 1 ? 0 : slot_ + 1;
  }

  // A run of steps for kLoadsOnce, behind kAhead turns that only load. load(slot) takes the next block to load, start()
  // the next to compute, while there is more().
  template <class More, class Start, class Load, class Compute>
  FOVEA_INLINE void take_turns(const More& more, const Start& start, const Load& load, const Compute& compute) {
    slot_ = 1;
    next_slot_ = 0;
    for (i32 turn = -kAhead; more(); ++turn) {
      if (turn >= 0) {
        start();
        await_block();
      }
      load(next_slot_);
      if (turn >= 0) {
        compute();
      } else {
        advance();
      }
    }
  }

  // Position rules alone: ragged blocks at the right edge, clean ones, ragged ones at the left edge, without a look at
  // anything but their numbers; each kind of loop exists once. Steps count from the last block to the first.
  FOVEA_INLINE void run_positions() {
    const i32 steps = blocks_.last - blocks_.first;
    const auto load_step = [&](i32 step, i32 slot) {
      if (step < steps) keys_.load(blocks_.last - 1 - step, slot);
      isa::cp_async_commit_group();
    };
    const i32 clean_begin = blocks_.last - blocks_.clean_last;
    const i32 clean_end = blocks_.last - blocks_.clean_first;
    BlockViews<kSpec> none;
    i32 step = 0;
    if constexpr (kLoadsOnce<kSpec>) {
      i32 to_load = 0;
      const auto compute_step = [&] {
        const i32 block = blocks_.last - 1 - step;
        if (step >= clean_begin && step < clean_end) {
          compute<Blocks::clean>(block, none);
        } else {
          compute<Blocks::ragged>(block, none);
        }
        ++step;
      };
      take_turns([&] { return step < steps; }, [] {}, [&](i32 slot) { load_step(to_load++, slot); }, compute_step);
      return;
    }
    first_slot();
    for (i32 slot = 0; slot < kAhead; ++slot) load_step(slot, slot);
    const auto run_until = [&]<Blocks kBlocks>(i32 last_step) {
      for (; step < last_step; ++step) {
        await_block();
        load_step(step + kAhead, next_slot_);
        compute<kBlocks>(blocks_.last - 1 - step, none);
      }
    };
    while (step < steps) {
      if (step >= clean_begin) run_until.template operator()<Blocks::clean>(clean_end);
      run_until.template operator()<Blocks::ragged>(step < clean_begin ? clean_begin : steps);
    }
  }

  // Blocks that are looked at first, kBlocksPerLook at a time; those whose mask is empty are passed over.
  FOVEA_INLINE void run_looking() {
    for (i32 last = blocks_.last; last > blocks_.first; last -= kBlocksPerLook) {
      const i32 count = min(kBlocksPerLook, last - blocks_.first);
      BlockBits bits{~0U, ~0U};
      if (task_.p.mask.data != nullptr) {
        bits = mask_blocks<kSpec>(task_.p, task_.seq, task_.tile, last - count, last, smem_ + kSmem.mask_words);
      }
      if (count < kBlocksPerLook) bits.some &= (1U << static_cast<u32>(count)) - 1U;
      run_marked(bits, last);
    }
  }

  FOVEA_INLINE void run_marked(const BlockBits& bits, i32 last) {
    u32 to_load = bits.some;
    const auto take = [last](u32& marked) {
      const u32 index = isa::popc((marked & (0U - marked)) - 1U);
      marked &= marked - 1U;
      return last - 1 - static_cast<i32>(index);
    };
    const auto load_next = [&](i32 slot) {
      if (to_load != 0) {
        const i32 block = take(to_load);
        keys_.load(block, slot);
        if constexpr (kSpec.begins_with_bias()) bias_tile_.copy(task_.p, block * kSpec.tile_n, slot);
      }
      isa::cp_async_commit_group();
    };
    isa::syncthreads();  // the stages are free
    if constexpr (kLoadsOnce<kSpec>) {
      BlockViews<kSpec> views;
      i32 block = 0;
      u32 to_do = bits.some;
      const auto fetch_views = [&] {
        block = take(to_do);
        views.fetch(task_.p, view_rows_, block * kSpec.tile_n);
      };
      take_turns([&] { return to_do != 0; }, fetch_views, load_next, [&] { compute<Blocks::ragged>(block, views); });
      return;
    }
    first_slot();
    for (i32 slot = 0; slot < kAhead; ++slot) load_next(slot);
    if (kSpec.begins_with_bias() && !queries_scaled_) {
      scale_queries();
      queries_scaled_ = true;
    }
    for (u32 to_do = bits.some; to_do != 0;) {
      const i32 block = take(to_do);
      const bool every = ((bits.every >> static_cast<u32>(last - 1 - block)) & 1U) != 0;
      const bool inside = block >= blocks_.clean_first && block < blocks_.clean_last;
      const bool clean = kCleanApart<kSpec> && bias_absent() && every && inside;
      BlockViews<kSpec> views;
      if (kViewsAhead<kSpec> && !clean) views.fetch(task_.p, view_rows_, block * kSpec.tile_n);
      await_block();
      load_bias(block);
      load_next(next_slot_);
      if constexpr (kAgainApart<kSpec>) {
        if (class_ != ValueClass::all) {
          compute<Blocks::again>(block, views);
          continue;
        }
      }
      if (clean) {
        compute<Blocks::clean>(block, views);
      } else {
        compute<Blocks::ragged>(block, views);
      }
    }
  }

  const FwdTask& task_;
  KeyBlocks blocks_;
  SmemPtr smem_;
  i32 warp_row_, lane_row_;
  KeyLoader<kSpec> keys_;
  ViewRows<kSpec> view_rows_;  // kSpec.views() only
  BiasTile<kSpec> bias_tile_;  // kSpec.bias_tiles only
  QView<kSpec> q_view_;
  Warp warp_;
  ValueClass class_ = ValueClass::all;  // of V elements that count
  bool queries_scaled_ = false;         // kSpec.begins_with_bias() only
  i32 slot_, next_slot_;                // of the step that is computed, of the one that is loaded meanwhile
};

template <FwdSpec kSpec>
FOVEA_INLINE void fwd_mma(const FwdParams& p) {
  static_assert(well_formed(kSpec) && kSpec.family == Family::mma);
  FwdTile tile;
  if (!fwd_tile<kSpec>(p, isa::ctaid_x(), tile)) return;
  const FwdTask task{p, tile, fwd_sequence(p, tile.batch)};
  if (query_of<kSpec>(p, tile.row0) >= task.seq.q_rows) return;
  FwdMma<kSpec> mma(task, SmemPtr{isa::smem_base()});
  mma.accumulate();
  mma.finish();
}

}  // namespace fovea::kernels
