// A consumer warpgroup of fwd_wgmma: 64 query rows of each of the CTA's tiles, with scores, weights and output in
// registers. The scores of block j + 1 are computed while the products of block j with V run (FlashAttention-3,
// algorithm 2).
#pragma once

#include "attention/epilogue.h"
#include "attention/softmax.h"
#include "attention/value_classes.h"
#include "kernels/fwd_wgmma_bias.h"
#include "kernels/fwd_wgmma_mask_ring.h"
#include "kernels/fwd_wgmma_output.h"
#include "kernels/fwd_wgmma_scores.h"
#include "kernels/fwd_wgmma_sender.h"

namespace fovea::kernels {

template <FwdSpec kSpec>
class Consumer {
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.head_dim_v / 8;
  static constexpr i32 kThreads = kSpec.tile_m / 64 * 128;  // of all consumers
  static constexpr u32 kConsumerBarrier = 1;                // of named barriers; then one per consumer
  static constexpr i32 kValueSteps = kSpec.tile_n / 16;     // of the product with V
  using Q = WgmmaOperand<kSpec.q_tile(), Major::k>;
  using V = WgmmaOperand<kSpec.v_tile(), Major::mn>;

 public:
  FOVEA_INLINE Consumer(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 group)
      : p_(p), ring_(ring), group_(static_cast<u32>(uniform(static_cast<i32>(group)))), out_(ring, group_) {}

  FOVEA_INLINE void run() {
    TurnKind next = begin_turn();
    while (true) {
      const TurnKind kind = next;
      Ended ended{turn_, 0};
      if (kind == TurnKind::run && some_keys()) {
        next = run_chain(ended);
      } else {
        if (kind == TurnKind::redo) {
          run_again();
        } else {  // no keys
          release_q();
          skip(before_);
          if (kind == TurnKind::end && !last_runs_again()) break;
          rows_ = no_keys_yet();
          o_.clear();
        }
        end_rows(kind == TurnKind::redo);
        ++turn_;
        next = begin_turn();
      }
      // What comes in front of a redo was for nothing: the tile before it runs again first.
      if (next != TurnKind::redo) finish(ended.turn, kind == TurnKind::redo);
    }
    if (kSpec.sends_apart()) out_.end();
    if (kSpec.stages_out() && !kSpec.sends_apart() && isa::elect_sync()) isa::bulk_wait_group_read<0>();
  }

 private:
  // A turn whose sums are there but not written yet, and the blocks behind them that the warpgroup does not see.
  struct Ended {
    i32 turn;
    i32 behind;
  };

  static constexpr bool kOwnBlocks = kSpec.own_blocks();
  static constexpr bool kWide = kSpec.head_dim_v > 192;

  // Waits for the turn's tile and takes what the loop needs of it.
  FOVEA_INLINE TurnKind begin_turn() {
    isa::mbarrier_wait_parity(ring_.q_full(turn_), ring_.turn_parity(turn_));
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_));
    const auto kind = static_cast<TurnKind>(uniform(static_cast<i32>(work.kind)));
    blocks_ = work.blocks;
    if (kOwnBlocks && kind != TurnKind::redo) blocks_ = ld_shared_object<KeyBlocks>(ring_.own_blocks(turn_, group_));
    blocks_.first = uniform(blocks_.first);
    blocks_.last = uniform(blocks_.last);
    before_ = kOwnBlocks ? uniform(work.blocks.last - (some_keys() ? blocks_.last : work.blocks.first)) : 0;
    behind_ = kOwnBlocks ? uniform(some_keys() ? blocks_.first - work.blocks.first : 0) : 0;
    step_ = uniform(step_);
    turn_ = uniform(turn_);
    if constexpr (kSpec.copies_bias()) bias_.find_lead(p_.fwd, work, lane_row());
    return kind;
  }
  FOVEA_INLINE bool some_keys() const { return blocks_.last > blocks_.first; }
  // Where there are no more tiles: whether the last one runs again.
  FOVEA_INLINE bool last_runs_again() const { return unsettled_ && uniform(ring_.runs_again(run_ - 1) ? 1 : 0) != 0; }

  // Tiles with keys, one behind the other: the first scores of each are computed while the output of the one before is
  // written. Leaves the last one to be written, and returns the kind of the turn behind it. The products in flight at
  // each point are the same in every iteration: where they are not, ptxas serialises all of them.
  FOVEA_INLINE TurnKind run_chain(Ended& ended) {
    start();
    while (true) {
      run_steps<false>();
      ended = {turn_, behind_};
      end_rows(false);
      ++turn_;
      const TurnKind kind = begin_turn();
      isa::wgmma_wait_group<0>();
      o_.fence();
      release(ring_.v_empty(step_ - 1));
      skip(ended.behind);
      if (kind != TurnKind::run || !some_keys()) return kind;
      start();
      finish(ended.turn, false);
    }
  }
  FOVEA_INLINE void start() {
    skip(before_);
    await_key(step_);
    issue_scores(q_tile(), step_);
  }
  // Hands back K and V of blocks that the warpgroup does not see, as they arrive; fewer than there are stages.
  FOVEA_INLINE void skip(i32 blocks) {
    FOVEA_ROLLED
    for (; blocks > 0; --blocks, ++step_) {
      await_key(step_);
      isa::mbarrier_wait_parity(ring_.v_full(step_), ring_.parity(step_));
      if constexpr (kSpec.bias_tiles) bias_.skip(step_, group_);
      isa::bar_sync(kConsumerBarrier + 1U + group_, 128U);  // a thread that fell behind could miss a phase
      release(ring_.k_empty(step_));
      release(ring_.v_empty(step_));
    }
  }
  // Of a turn whose rows have ended. `again`: over what an earlier turn wrote.
  FOVEA_INLINE void finish(i32 turn, bool again) {
    if constexpr (kSpec.sends_apart()) {
      out_.await_empty();
    } else if constexpr (kSpec.stages_out()) {
      free_staging(again);
    }
    const bool finite = write(turn, again);
    unsettled_ = !again;
    if (!again) ring_.give_verdict(run_++, 4U * group_ + warp(), isa::vote_any(!finite));
  }

  // A value that is the same in the whole warp; the compiler learns it, so that loops and descriptors stay uniform.
  FOVEA_INLINE static i32 uniform(i32 x) { return static_cast<i32>(isa::redux_or(static_cast<u32>(x))); }
  // The lane's first row in a tile.
  FOVEA_INLINE i32 lane_row() const { return static_cast<i32>(64 * group_ + 16 * warp() + (isa::laneid() >> 2U)); }
  FOVEA_INLINE static u32 warp() { return isa::tid_x() / 32U % 4U; }

  // One thread of the warpgroup hands a tile back, after all its warps' products on it have ended.
  FOVEA_INLINE void release(SmemPtr empty) const {
    if (isa::tid_x() % 128U == 0U) isa::mbarrier_arrive(empty);
  }

  FOVEA_INLINE void release_q() const {
    isa::bar_warp_sync(0xffffffffU);
    if (isa::laneid() == 0) isa::mbarrier_arrive(ring_.q_empty(turn_));
  }

  // The sums over the keys of each class of V elements, and what follows from them.
  FOVEA_INLINE void run_again() {
    Infinities<kOutTiles> infinities{};
    class_ = ValueClass::all;
    while (true) {
      class_ = static_cast<ValueClass>(static_cast<u32>(class_) - 1U);
      run_steps<true>();
      isa::wgmma_wait_group<0>();
      release(ring_.v_empty(step_ - 1));
      if (class_ == ValueClass::finite) break;
      infinities.add(o_);
    }
    release_q();
    infinities.apply(o_);
  }

  // The tile's sums; its last product with V is still under way. kClass: V elements of class_ alone count; otherwise
  // the first scores have been begun.
  template <bool kClass>
  FOVEA_INLINE void run_steps() {
    rows_ = no_keys_yet();
    o_.clear();
    if (kClass) start();
    block_ = blocks_.last - 1;
    i32 step = uniform(step_);
    const i32 end = step + uniform(blocks_.last - blocks_.first);
    const Q q = q_tile();
    // A mask says with each step whether another follows; without one their number is known.
    const auto more = [&](i32 behind) { return kSpec.scans_mask() ? !last_ : behind < end; };
    await_scores(step);
    raise_maxima<kClass>(step, true);
    add_sums(weigh<kClass>());
    narrow();
    if (more(step + 1)) await_key(step + 1);
    for (++step; more(step); ++step) {
      issue_scores(q, step);
      issue_values<kClass>(step - 1);
      isa::wgmma_wait_group<1>();
      release(ring_.k_empty(step));
      --block_;
      Maxima maxima = raise_maxima<kClass>(step, kClass || rows_.unsettled);
      Array<f32, 2> sums = weigh<kClass>();
      raise_outgrown_maxima<kSpec.element, kClass>(s_, rows_, sums, maxima, exponent_scale<kSpec>(p_.fwd));
      add_sums(sums);
      // A basic block ends here: otherwise ptxas moves the exponentials behind the wait for the products with V.
      if (more(step + 1)) await_key(step + 1);
      isa::wgmma_wait_group<0>();
      release(ring_.v_empty(step - 1));
      if (maxima.moved) shrink(maxima.factor);
      narrow();
    }
    if (!kClass) release_q();
    issue_values<kClass>(step - 1);
    step_ = step;
  }

  FOVEA_INLINE void await_scores(i32 step) {
    isa::wgmma_wait_group<0>();
    s_.fence();
    release(ring_.k_empty(step));
  }

  FOVEA_INLINE void await_key(i32 step) const { isa::mbarrier_wait_parity(ring_.k_full(step), ring_.parity(step)); }
  // Of the turn. The descriptor is what is made uniform, not the turn alone: ptxas then keeps the loop's counter in
  // uniform registers as well. With wide rows it begins at the consumer's own: otherwise ptxas keeps the consumer's
  // offset for every 16 columns, in registers per lane.
  FOVEA_INLINE Q q_tile() const {
    Q q(ring_.q_tile(turn_) + (kWide ? 64U * group_ * SmemTile::kRowBytes : 0U));
    q.low = static_cast<u32>(uniform(static_cast<i32>(q.low)));
    return q;
  }
  FOVEA_INLINE void issue_scores(const Q& q, i32 step) {
    isa::wgmma_fence();
    product<kSpec.element>(s_, q, kWide ? 0U : 64U * group_,
                           WgmmaOperand<kSpec.k_tile(), Major::k>(ring_.k_tile(step)));
    isa::wgmma_commit_group();
  }
  template <bool kClass>
  FOVEA_INLINE void await_values(i32 step) {
    isa::mbarrier_wait_parity(ring_.v_full(step), ring_.parity(step));
    if constexpr (kClass) {
      keep_class<kSpec>(ring_.v_tile(step), class_, static_cast<i32>(isa::tid_x()) - 128, kThreads);
      isa::fence_proxy_async_shared_cta();
      isa::bar_sync(kConsumerBarrier, kThreads);
    }
  }
  template <bool kClass>
  FOVEA_INLINE void issue_values(i32 step) {
    await_values<kClass>(step);
    isa::wgmma_fence();
    const V v(ring_.v_tile(step));
    FOVEA_UNROLL
    for (i32 i = 0; i < kValueSteps; ++i) {
      add_product<kSpec.element>(o_, weights_[i], v, static_cast<u32>(16 * i));
    }
    isa::wgmma_commit_group();
  }

  // A block's scores as softmax sees them, those that count alone; if it is to look, what they mean for the rows.
  template <bool kClass>
  FOVEA_INLINE Maxima raise_maxima(i32 step, bool look) {
    if constexpr (kSpec.transformed || kSpec.score == ScoreForm::general) transform_scores(s_, p_.fwd);
    if constexpr (kSpec.bias_tiles) bias_.template add<kClass>(step, group_, s_, p_.fwd);
    if constexpr (kSpec.scans_mask()) hide_masked(step);
    if (block_ < blocks_.clean_first || block_ >= blocks_.clean_last) {
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_));
      hide_scores<kSpec>(s_, p_.fwd, work.seq, work.tile.row0 + lane_row(), block_ * kSpec.tile_n);
    }
    if (kClass && counts_keys(class_)) level_visible<kKeyTiles>(s_);
    if (!look) return unmoved();
    return raised_maxima<kSpec.element, kClass>(s_, rows_, exponent_scale<kSpec>(p_.fwd));
  }
  // Learns which block the step is about, and hides what the mask does.
  FOVEA_INLINE void hide_masked(i32 step) {
    const MaskStep found = mask_.unpack(static_cast<u32>(uniform(static_cast<i32>(mask_.what(step)))));
    block_ = found.block;
    last_ = found.last;
    if (found.partial) {
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) {
        const i32 row = p_.fwd.mask.stride_q == 0 ? 0 : lane_row() + 8 * half;
        hide_by_bits(s_, half, mask_.bits_of(step, row));
      }
    }
    mask_.release(step);
  }
  // Scores -> weights in place, and their sums; weights -> the next product's A.
  template <bool kClass>
  FOVEA_INLINE Array<f32, 2> weigh() {
    const f32 scale = exponent_scale<kSpec>(p_.fwd);
    if (kClass) {
      subtract_far_maxima<kSpec.element>(s_, rows_, scale);
    } else if (kWide) {  // no registers to keep it in, nor for a look whether it is far; see end_rows()
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) rows_.shift[half] = softmax_base(rows_.stats.max[half]) * scale;
    }
    return weigh_scores(s_, rows_, scale);
  }
  FOVEA_INLINE void add_sums(const Array<f32, 2>& sums) {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) rows_.stats.sum[half] += sums[half];
  }
  FOVEA_INLINE void narrow() {
    FOVEA_UNROLL
    for (i32 step = 0; step < kValueSteps; ++step) weights_[step] = as_a_operand<kSpec.element>(s_, step);
  }

  FOVEA_INLINE void shrink(const Array<f32, 2>& factor) {
    FOVEA_UNROLL
    for (i32 i = 0; i < 4 * kOutTiles; ++i) o_.reg[i] *= factor[i / 2 % 2];
  }

  // What the turn's rows have as lse, and what their sums are multiplied by. The last products with V may be under way.
  FOVEA_INLINE void end_rows(bool again) {
    const FwdParams& p = p_.fwd;
    const auto max = [&](i32 half) { return rows_.stats.max[half] * natural_scale<kSpec>(p); };
    const auto sum = [&](i32 half) { return quad_sum(rows_.stats.sum[half]); };
    // A branch: a basic block ends here, and ptxas does not spread what follows between the products.
    if (p.sink == nullptr) {
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) ends_[half] = finish_row(max(half), sum(half));
    } else {
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_));
      FOVEA_UNROLL
      for (i32 half = 0; half < 2; ++half) {
        const f32 sink = sink_of<kSpec>(p, work.tile, work.tile.row0 + lane_row() + 8 * half);
        ends_[half] = finish_row(max(half), sum(half), sink);
      }
    }
    if (kWide && !again) ask_for_far_rows();
  }
  // To run again: output that is not finite says so.
  FOVEA_INLINE void ask_for_far_rows() {
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const bool far = is_far<kSpec.element>(rows_.stats.max[half], exponent_scale<kSpec>(p_.fwd));
      if (far) ends_[half].factor = kQuietNaN;
    }
  }

  // out and lse of a turn's tile; whether the lane's part is finite. lse comes last: the fence in front of TMA's reads
  // would wait for it. No lane returns early: ptxas would take all that follows for divergent code, and keep loop
  // counters and descriptors per lane.
  FOVEA_INLINE bool write(i32 turn, bool again) {
    const auto rows = ld_shared_object<TileRows>(ring_.rows(turn));
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {  // other rows hold what Q's storage holds: anything
      if (lane_row() + 8 * half >= rows.used) ends_[half] = kEmptyRow;
    }
    const u32 warp_row = 64U * group_ + 16U * warp();
    if (static_cast<i32>(warp_row) + 16 > rows.used) {
      FOVEA_UNROLL
      for (i32 i = 0; i < 4 * kOutTiles; ++i) {
        if (lane_row() + 8 * (i / 2 % 2) >= rows.used) o_.reg[i] = 0.0F;
      }
    }
    shrink({{ends_[0].factor, ends_[1].factor}});
    const bool finite = hand_out(turn, warp_row, again);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const i32 row = lane_row() + 8 * half;
      const bool stored = rows.lse != nullptr && (isa::laneid() & 3U) == 0 && row < rows.stored;
      if (stored) isa::st_global<f32>(rows.lse + lse_from<kSpec>(p_.fwd, row), ends_[half].lse);
    }
    return finite;
  }
  // The warp's rows, on the way that the spec has for them; whether the lane's part is finite.
  FOVEA_INLINE bool hand_out(i32 turn, u32 warp_row, bool again) {
    const SmemPtr staged = ring_.out_tile() + warp_row / 16U * kWarpOut<kSpec>.bytes();
    if constexpr (kSpec.sends_apart()) {
      PairFiniteness<kSpec.element> finiteness;
      stage_rows<kSpec>(staged, 0, o_, finiteness);
      out_.hand_over(turn, again);
      return finiteness.all();
    } else {
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
      if constexpr (kSpec.stages_out()) {
        return store_rows<kSpec>(p_, work, staged, static_cast<i32>(warp_row), o_);
      } else {
        return store_rows_from_registers<kSpec>(p_, work, static_cast<i32>(warp_row), o_);
      }
    }
  }

  const FwdWgmmaParams& p_;
  WgmmaRing<kSpec> ring_;
  u32 group_;
  i32 turn_ = 0;
  i32 step_ = 0;                        // of the ring: goes on from turn to turn
  i32 run_ = 0;                         // tiles with a verdict
  bool unsettled_ = false;              // whether somebody may want the last of them again
  KeyBlocks blocks_;                    // that the warpgroup's rows see
  i32 before_, behind_;                 // how many of the tile's come before and behind them
  i32 block_ = 0;                       // of keys
  bool last_ = false;                   // of the turn, as a mask says
  MaskRing<kSpec> mask_;                // kSpec.scans_mask() only
  BiasRing<kSpec> bias_;                // kSpec.bias_tiles only
  OutQueue<kSpec> out_;                 // kSpec.sends_apart() only
  ValueClass class_ = ValueClass::all;  // of V elements that count
  WgmmaRows rows_;
  Array<RowResult, 2> ends_;  // of the lane's rows
  WgmmaAcc<kSpec.tile_n> s_;
  WgmmaAcc<kSpec.head_dim_v> o_;
  Array<FragWgmmaA, kValueSteps> weights_;
};

}  // namespace fovea::kernels
