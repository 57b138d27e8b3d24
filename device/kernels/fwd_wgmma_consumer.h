// A consumer warpgroup of fwd_wgmma: 64 query rows of each of the CTA's tiles, with scores, weights and output in
// registers. The scores of block j + 1 are computed while the products of block j with V run (FlashAttention-3,
// algorithm 2).
#pragma once

#include "attention/epilogue.h"
#include "attention/softmax.h"
#include "attention/value_classes.h"
#include "kernels/fwd_wgmma_ring.h"
#include "tile/wgmma.h"

namespace fovea::kernels {

template <FwdSpec kSpec>
class Consumer {
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.head_dim_v / 8;
  static constexpr i32 kThreads = kSpec.tile_m / 64 * 128;  // of all consumers
  static constexpr u32 kConsumerBarrier = 1;                // of named barriers; then one per consumer
  using Q = WgmmaOperand<kSpec.q_tile(), Major::k>;
  static constexpr SmemTile kWarpOut{.rows = 16, .cols = kSpec.head_dim_v};

 public:
  FOVEA_INLINE Consumer(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 group)
      : p_(p), ring_(ring), group_(static_cast<u32>(uniform(static_cast<i32>(group)))) {}

  FOVEA_INLINE void run() {
    TurnKind kind = begin_turn();
    while (true) {
      const bool again = kind == TurnKind::redo;
      Ended ended{turn_, false};
      if (kind == TurnKind::run && some_keys()) {
        kind = run_chain(ended);
      } else {
        if (again) {
          run_again();
        } else {  // no keys
          release_q();
          ended.for_nothing = thrown_away();
          if (kind == TurnKind::end && !ended.for_nothing) break;
          stats_ = empty_rows();
          o_.clear();
        }
        end_rows();
        kind = next_turn();
      }
      if (!ended.for_nothing) finish(ended.turn, again);
    }
    if (isa::laneid() == 0) isa::bulk_wait_group_read<0>();
  }

 private:
  // A turn whose sums are there but not written yet, and whether they are for nothing.
  struct Ended {
    i32 turn;
    bool for_nothing;
  };

  // Waits for the turn's tile and takes what the loop needs of it.
  FOVEA_INLINE TurnKind begin_turn() {
    isa::mbarrier_wait_parity(ring_.q_full(turn_), ring_.turn_parity(turn_));
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_));
    row_ = work.tile.row0 + lane_row();
    left_ = work.seq.left, right_ = work.seq.right;
    kv_used_ = work.seq.kv_used, q_used_ = work.seq.q_used;
    blocks_ = work.blocks;
    blocks_.first = uniform(blocks_.first);
    blocks_.last = uniform(blocks_.last);
    step_ = uniform(step_);
    return static_cast<TurnKind>(uniform(static_cast<i32>(work.kind)));
  }
  FOVEA_INLINE TurnKind next_turn() {
    ++turn_;
    return begin_turn();
  }
  FOVEA_INLINE bool some_keys() const { return blocks_.last > blocks_.first; }
  // Whether the turn's sums are for nothing, because the tile before runs again first.
  FOVEA_INLINE bool thrown_away() {
    const bool again = unsettled_ && uniform(ring_.runs_again(run_ - 1) ? 1 : 0) != 0;
    unsettled_ = !again;
    return again;
  }

  // Tiles with keys, one behind the other: the first scores of each are computed while the output of the one before is
  // written. Leaves the last one to be written, and returns the kind of the turn behind it. The products in flight at
  // each point are the same in every iteration: where they are not, ptxas serialises all of them.
  FOVEA_INLINE TurnKind run_chain(Ended& ended) {
    start();
    while (true) {
      run_steps<false>();
      ended = {turn_, thrown_away()};
      end_rows();
      const TurnKind kind = next_turn();
      isa::wgmma_wait_group<0>();
      o_.fence();
      release(ring_.v_empty(step_ - 1));
      if (ended.for_nothing || kind != TurnKind::run || !some_keys()) return kind;
      start();
      finish(ended.turn, false);
    }
  }
  FOVEA_INLINE void start() {
    await_key(step_);
    issue_scores(q_tile(), step_);
  }
  // Of a turn whose rows have ended. `again`: over what an earlier turn wrote.
  FOVEA_INLINE void finish(i32 turn, bool again) {
    if (!again) give_verdict(run_++);
    write(turn, again);
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
    stats_ = empty_rows();
    o_.clear();
    if (kClass) start();
    block_ = blocks_.last - 1;
    if constexpr (kSpec.overlapped()) {
      run_overlapped<kClass>();
    } else {
      run_in_turn<kClass>();
    }
  }

  template <bool kClass>
  FOVEA_INLINE void run_overlapped() {
    i32 step = uniform(step_);
    const i32 end = step + uniform(blocks_.last - blocks_.first);
    const Q q = q_tile();
    await_scores(step);
    weigh<kClass>();
    narrow();
    if (step + 1 < end) await_key(step + 1);
    for (++step; step < end; ++step) {
      issue_scores(q, step);
      issue_values<kClass>(step - 1);
      isa::wgmma_wait_group<1>();
      release(ring_.k_empty(step));
      --block_;
      const Array<f32, 2> factor = weigh<kClass>();
      // A basic block ends here: otherwise ptxas moves the exponentials behind the wait for the products with V.
      if (step + 1 < end) await_key(step + 1);
      isa::wgmma_wait_group<0>();
      release(ring_.v_empty(step - 1));
      rescale(factor);
      narrow();
    }
    if (!kClass) release_q();
    issue_values<kClass>(end - 1);
    step_ = end;
  }

  // Scores and weights share registers.
  template <bool kClass>
  FOVEA_INLINE void run_in_turn() {
    i32 step = uniform(step_);
    const i32 end = step + uniform(blocks_.last - blocks_.first);
    const Q q = q_tile();
    while (true) {
      await_scores(step);
      rescale(weigh<kClass>());
      narrow();
      if (!kClass && step + 1 == end) release_q();
      issue_values<kClass>(step);
      if (++step == end) break;
      --block_;
      await_key(step);
      isa::wgmma_wait_group<0>();
      release(ring_.v_empty(step - 1));
      issue_scores(q, step);
    }
    step_ = end;
  }
  FOVEA_INLINE void await_scores(i32 step) {
    isa::wgmma_wait_group<0>();
    s_.fence();
    release(ring_.k_empty(step));
  }

  // Whether some query of the warpgroup has sums that are not finite.
  FOVEA_INLINE void give_verdict(i32 run) const {
    const f32 zero = finiteness<kOutTiles>(o_);
    const bool again = isa::bar_red_or(kConsumerBarrier + 1U + group_, 128U, !(zero == 0.0F) && query_[0]);
    if (isa::tid_x() % 128U == 0U) ring_.give_verdict(run, group_, again);
  }

  FOVEA_INLINE void await_key(i32 step) const { isa::mbarrier_wait_parity(ring_.k_full(step), ring_.parity(step)); }
  FOVEA_INLINE Q q_tile() const {
    Q q(ring_.q_tile(turn_));
    q.low = static_cast<u32>(uniform(static_cast<i32>(q.low)));
    return q;
  }
  FOVEA_INLINE void issue_scores(const Q& q, i32 step) {
    isa::wgmma_fence();
    product<kSpec.element>(s_, q, 64U * group_, WgmmaOperand<kSpec.k_tile(), Major::k>(ring_.k_tile(step)));
    isa::wgmma_commit_group();
  }
  template <bool kClass>
  FOVEA_INLINE void issue_values(i32 step) {
    isa::mbarrier_wait_parity(ring_.v_full(step), ring_.parity(step));
    if constexpr (kClass) {
      keep_class<kSpec>(ring_.v_tile(step), class_, static_cast<i32>(isa::tid_x()) - 128, kThreads);
      isa::fence_proxy_async_shared_cta();
      isa::bar_sync(kConsumerBarrier, kThreads);
    }
    isa::wgmma_fence();
    add_product<kSpec.element>(o_, weights_, WgmmaOperand<kSpec.v_tile(), Major::mn>(ring_.v_tile(step)));
    isa::wgmma_commit_group();
  }

  // Scores -> weights in place. Returns the factors by which the output's rows shrink.
  template <bool kClass>
  FOVEA_INLINE Array<f32, 2> weigh() {
    if (block_ < blocks_.clean_first || block_ >= blocks_.clean_last) hide(block_ * kSpec.tile_n);
    if (kClass && counts_keys(class_)) level_visible<kKeyTiles>(s_);
    Array<f32, 2> factor;
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      f32 seen = stats_.max[half];
      FOVEA_UNROLL
      for (i32 i = 0; i < 2 * kKeyTiles; ++i) seen = isa::max(seen, s_.at(i / 2, half, i % 2));
      factor[half] = raise_max(stats_, half, quad_max(seen), p_.fwd.scale_log2);
      const f32 shift = softmax_base(stats_.max[half]) * p_.fwd.scale_log2;
      FOVEA_UNROLL
      for (i32 i = 0; i < 2 * kKeyTiles; ++i) weigh_one(s_.at(i / 2, half, i % 2), stats_.sum[half], shift);
    }
    return factor;
  }
  FOVEA_INLINE void weigh_one(f32& score, f32& sum, f32 shift) const {
    fovea::weigh(score, sum, p_.fwd.scale_log2, shift);
  }

  FOVEA_INLINE void hide(i32 key0) {
    const i32 first = key0 + 2 * static_cast<i32>(isa::laneid() & 3U);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const i32 query = row_ + 8 * half;
      const i32 begin = query + left_ - first;
      const i32 end = min(kv_used_, query + right_ + 1) - first;
      FOVEA_UNROLL
      for (i32 i = 0; i < 2 * kKeyTiles; ++i) {
        const i32 key = 8 * (i / 2) + i % 2;
        if (key < begin || key >= end) s_.at(i / 2, half, i % 2) = kMinusInfinity;
      }
    }
  }

  FOVEA_INLINE void rescale(const Array<f32, 2>& factor) {
    if (!isa::vote_any(factor[0] != 1.0F || factor[1] != 1.0F)) return;
    FOVEA_UNROLL
    for (i32 i = 0; i < 4 * kOutTiles; ++i) o_.reg[i] *= factor[i / 2 % 2];
  }

  FOVEA_INLINE void narrow() {
    FOVEA_UNROLL
    for (i32 step = 0; step < kSpec.tile_n / 16; ++step) weights_[step] = as_a_operand<kSpec.element>(s_, step);
  }

  // lse of the turn's rows, and what their sums are multiplied by. The last products with V may be under way.
  FOVEA_INLINE void end_rows() {
    const FwdParams& p = p_.fwd;
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_));
    const f32 sink =
        p.sink == nullptr ? kMinusInfinity : isa::ld_global<f32>(p.sink + work.tile.head_q * p.sink_stride);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const RowPlace place = row_place<kSpec>(p, work.seq, work.tile, row_ + 8 * half);
      const f32 sum = quad_sum(stats_.sum[half]);
      query_[half] = place.query < work.seq.q_used;  // other rows hold what Q's storage holds: anything
      const RowResult result = query_[half] ? finish_row(stats_.max[half] * p.scale, sum, sink) : kEmptyRow;
      factor_[half] = result.factor;
      if (p.lse != nullptr && (isa::laneid() & 3U) == 0 && place.query < work.seq.q_rows) {
        isa::st_global<f32>(lse_of(p, work.seq, work.tile, place), result.lse);
      }
    }
  }

  // out of a turn's tile.
  FOVEA_INLINE void write(i32 turn, bool again) {
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
    if (isa::vote_any(!query_[0] || !query_[1])) {
      FOVEA_UNROLL
      for (i32 i = 0; i < 4 * kOutTiles; ++i) o_.reg[i] = query_[i / 2 % 2] ? o_.reg[i] : 0.0F;
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < 4 * kOutTiles; ++i) o_.reg[i] *= factor_[i / 2 % 2];
    const i32 first = work.tile.row0 + static_cast<i32>(64 * group_ + 16 * warp());  // of the warp's rows
    const SmemPtr staged = ring_.out_tile() + (4U * group_ + warp()) * kWarpOut.bytes();
    if (isa::laneid() == 0) {
      if (again) isa::bulk_wait_group<0>();
      isa::bulk_wait_group_read<0>();
    }
    isa::bar_warp_sync(0xffffffffU);
    const LdmatrixView<kWarpOut, LdmatrixPattern::a_row_major> view(staged);
    FOVEA_UNROLL
    for (i32 step = 0; step < kOutTiles / 2; ++step) {
      store_matrix<Store::stmatrix>(view, 0, static_cast<u32>(16 * step), FragA{as_a_operand<kSpec.out>(o_, step).reg});
    }
    isa::fence_proxy_async_shared_cta();
    isa::bar_warp_sync(0xffffffffU);
    if (p_.fwd.cu_q == nullptr || first + 16 <= work.seq.q_rows) {
      if (isa::laneid() == 0 && first < work.seq.q_rows) send_rows(work, staged, first);
    } else {  // packed storage: the rows behind are the next sequence's
      copy_rows(work, staged, first);
    }
  }

  // The warp's 16 rows, as far as the tensor has them and their columns.
  FOVEA_INLINE void send_rows(const WgmmaWork& work, SmemPtr staged, i32 first) {
    FOVEA_UNROLL
    for (i32 panel = 0; panel < kWarpOut.panels(); ++panel) {
      if (64 * panel >= p_.fwd.head_dim_v) break;
      isa::tma_store_4d(&p_.out, staged + static_cast<u32>(panel) * kWarpOut.panel_bytes(), 64 * panel,
                        work.seq.q_begin + first, work.tile.head_q, work.seq.q_batch);
    }
    isa::bulk_commit_group();
  }

  // Those that the sequence has, in pieces of 16 bytes.
  FOVEA_INLINE void copy_rows(const WgmmaWork& work, SmemPtr staged, i32 first) const {
    constexpr i32 kPieces = kSpec.head_dim_v / 8;
    FOVEA_ROLLED
    for (i32 i = static_cast<i32>(isa::laneid()); i < kWarpOut.rows * kPieces; i += 32) {
      const i32 row = first + i / kPieces;
      if (row >= work.seq.q_rows) break;
      const u32 piece = static_cast<u32>(i % kPieces * 8);
      if (static_cast<i32>(piece) >= p_.fwd.head_dim_v) continue;
      const i64 element = row_place<kSpec>(p_.fwd, work.seq, work.tile, row).out + piece;
      isa::st_global<U32x4>(static_cast<u16*>(p_.fwd.out.data) + element,
                            isa::ld_shared<U32x4>(staged + kWarpOut.offset(static_cast<u32>(i / kPieces), piece)));
    }
  }

  const FwdWgmmaParams& p_;
  WgmmaRing<kSpec> ring_;
  u32 group_;
  i32 turn_ = 0;
  i32 step_ = 0;            // of the ring: goes on from turn to turn
  i32 run_ = 0;             // tiles with a verdict
  bool unsettled_ = false;  // whether somebody may want the last of them again
  i32 row_ = 0;             // the lane's first, in the turn's tile
  i32 left_, right_, kv_used_, q_used_;
  KeyBlocks blocks_;
  i32 block_ = 0;                       // of keys
  ValueClass class_ = ValueClass::all;  // of V elements that count
  RowStats stats_;
  Array<bool, 2> query_;  // whether the lane's rows are queries, and what their sums are multiplied by
  Array<f32, 2> factor_;
  WgmmaAcc<kSpec.tile_n> s_;
  WgmmaAcc<kSpec.head_dim_v> o_;
  Array<FragWgmmaA, kSpec.tile_n / 16> weights_;
};

}  // namespace fovea::kernels
