// fwd_wgmma: attention forward on SM90 with wgmma and TMA. One CTA computes tile_m query rows of one head: a producer
// warp brings Q and, through a ring of stages, K and V; each consumer warpgroup keeps 64 rows of scores, weights and
// output in registers, and computes the scores of block j + 1 while the products of block j with V run
// (FlashAttention-3, algorithm 2).
#pragma once

#include "attention/epilogue.h"
#include "attention/softmax.h"
#include "attention/value_classes.h"
#include "attention/visibility.h"
#include "spec/fwd_wgmma_params.h"
#include "tile/wgmma.h"

namespace fovea::kernels {

// A ring of stages with a full and an empty barrier each for K and V. Steps count from 0; both sides count alike.
template <FwdSpec kSpec>
class KeyRing {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);
  static constexpr i32 kStages = kSpec.stages;
  static constexpr i32 kConsumers = kSpec.tile_m / 64;

 public:
  FOVEA_INLINE explicit KeyRing(SmemPtr smem) : smem_(smem) {}

  FOVEA_INLINE void init() const {
    isa::mbarrier_init(q_full(), 1U);
    isa::mbarrier_init(verdict(), 1U);
    FOVEA_UNROLL
    for (i32 i = 0; i < 2 * kStages; ++i) {
      isa::mbarrier_init(smem_ + static_cast<u32>(64 + 8 * i), 1U);
      isa::mbarrier_init(smem_ + static_cast<u32>(256 + 8 * i), static_cast<u32>(kConsumers));
    }
  }
  FOVEA_INLINE SmemPtr q_full() const { return smem_; }
  // The consumers' word on whether the tile runs again, and the barrier that says that it is there.
  FOVEA_INLINE SmemPtr verdict() const { return smem_ + 8U; }
  FOVEA_INLINE SmemPtr verdict_word() const { return smem_ + 16U; }
  FOVEA_INLINE SmemPtr k_full(i32 step) const { return smem_ + static_cast<u32>(64 + 16 * slot(step)); }
  FOVEA_INLINE SmemPtr v_full(i32 step) const { return smem_ + static_cast<u32>(72 + 16 * slot(step)); }
  FOVEA_INLINE SmemPtr k_empty(i32 step) const { return smem_ + static_cast<u32>(256 + 16 * slot(step)); }
  FOVEA_INLINE SmemPtr v_empty(i32 step) const { return smem_ + static_cast<u32>(264 + 16 * slot(step)); }
  FOVEA_INLINE SmemPtr q_tile() const { return smem_ + kSmem.q; }
  FOVEA_INLINE SmemPtr k_tile(i32 step) const {
    return smem_ + (kSmem.stage0 + static_cast<u32>(slot(step)) * kSmem.stage_bytes);
  }
  FOVEA_INLINE SmemPtr v_tile(i32 step) const { return k_tile(step) + kSmem.v_in_stage; }
  // Parity of the phase in which a step's tile is full; the producer waits for the one before.
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step / kStages) & 1U; }

 private:
  FOVEA_INLINE static i32 slot(i32 step) { return step % kStages; }

  SmemPtr smem_;
};

// Begins to bring a tile; `full` completes when all of it has landed. Rows past the tensor's end become zero.
template <SmemTile kTile>
FOVEA_INLINE void load_tile(SmemPtr tile, const TensorMap* map, SmemPtr full, i32 row, i32 head, i32 batch) {
  isa::mbarrier_arrive_expect_tx(full, kTile.bytes());
  FOVEA_UNROLL
  for (i32 panel = 0; panel < kTile.panels(); ++panel) {
    isa::tma_load_4d(tile + static_cast<u32>(panel) * kTile.panel_bytes(), map, full, 64 * panel, row, head, batch);
  }
}

// Runs over the keys when the first one's sums are not finite: one for each class of V elements; see value_classes.h.
inline constexpr u32 kPasses = static_cast<u32>(ValueClass::all) + 1U;

template <FwdSpec kSpec>
FOVEA_INLINE void produce(const FwdWgmmaParams& p, const FwdTile& tile, const FwdSequence& seq, const KeyBlocks& blocks,
                          const KeyRing<kSpec>& ring) {
  load_tile<kSpec.q_tile()>(ring.q_tile(), &p.q, ring.q_full(), seq.q_begin + tile.row0, tile.head_q, seq.q_batch);
  i32 step = 0;
  for (u32 pass = 0; pass < kPasses; ++pass) {
    for (i32 block = blocks.last - 1; block >= blocks.first; --block, ++step) {
      const i32 row = seq.kv_begin + block * kSpec.tile_n;
      isa::mbarrier_wait_parity(ring.k_empty(step), ring.parity(step) ^ 1U);
      load_tile<kSpec.k_tile()>(ring.k_tile(step), &p.k, ring.k_full(step), row, tile.head_kv, seq.kv_batch);
      isa::mbarrier_wait_parity(ring.v_empty(step), ring.parity(step) ^ 1U);
      load_tile<kSpec.v_tile()>(ring.v_tile(step), &p.v, ring.v_full(step), row, tile.head_kv, seq.kv_batch);
    }
    if (pass > 0) continue;
    isa::mbarrier_wait_parity(ring.verdict(), 0U);
    if (isa::ld_shared<u32>(ring.verdict_word()) == 0U) return;
  }
}

// 64 rows of one warpgroup.
template <FwdSpec kSpec>
class Consumer {
  static constexpr i32 kKeyTiles = kSpec.tile_n / 8;
  static constexpr i32 kOutTiles = kSpec.head_dim_v / 8;
  static constexpr i32 kThreads = kSpec.tile_m / 64 * 128;  // of all consumers
  static constexpr u32 kConsumerBarrier = 1;                // of named barriers

 public:
  FOVEA_INLINE Consumer(const FwdParams& p, const FwdTile& tile, const FwdSequence& seq, const KeyBlocks& blocks,
                        const KeyRing<kSpec>& ring, u32 group)
      : p_(p),
        tile_(tile),
        seq_(seq),
        blocks_(blocks),
        ring_(ring),
        q_(ring.q_tile()),
        group_(group),
        row_(tile.row0 + static_cast<i32>(64 * group + 16 * (isa::tid_x() / 32U % 4U) + (isa::laneid() >> 2U))) {}

  FOVEA_INLINE void run() {
    isa::mbarrier_wait_parity(ring_.q_full(), 0U);
    run_steps<false>();
    if (!all_finite()) run_again();
    write();
  }

 private:
  // One thread of the warpgroup hands a tile back, after all its warps' products on it have ended.
  FOVEA_INLINE void release(SmemPtr empty) const {
    if (isa::tid_x() % 128U == 0U) isa::mbarrier_arrive(empty);
  }

  // The sums over the keys of each class of V elements, and what follows from them.
  FOVEA_INLINE void run_again() {
    Infinities<kOutTiles> infinities{};
    while (true) {
      class_ = static_cast<ValueClass>(static_cast<u32>(class_) - 1U);
      run_steps<true>();
      if (class_ == ValueClass::finite) break;
      infinities.add(o_);
    }
    infinities.apply(o_);
  }

  // kClass: V elements of class_ alone count.
  template <bool kClass>
  FOVEA_INLINE void run_steps() {
    stats_ = empty_rows();
    o_.clear();
    const i32 end = step_ + blocks_.last - blocks_.first;
    if (step_ == end) return;
    await_key(step_);
    issue_scores(step_);
    isa::wgmma_wait_group<0>();
    release(ring_.k_empty(step_));
    block_ = blocks_.last - 1;
    weigh<kClass>();
    narrow();
    if (step_ + 1 < end) await_key(step_ + 1);
    for (++step_; step_ < end; ++step_) {
      issue_scores(step_);
      issue_values<kClass>(step_ - 1);
      isa::wgmma_wait_group<1>();
      release(ring_.k_empty(step_));
      --block_;
      const Array<f32, 2> factor = weigh<kClass>();
      // A basic block ends here: otherwise ptxas moves the exponentials behind the wait for the products with V.
      if (step_ + 1 < end) await_key(step_ + 1);
      isa::wgmma_wait_group<0>();
      release(ring_.v_empty(step_ - 1));
      rescale(factor);
      narrow();
    }
    issue_values<kClass>(end - 1);
    isa::wgmma_wait_group<0>();
    release(ring_.v_empty(end - 1));
  }

  // Whether every query of the tile has finite sums. The producer learns it as well.
  FOVEA_INLINE bool all_finite() const {
    const f32 zero = finiteness<kOutTiles>(o_);
    const bool bad = !(zero == 0.0F) && row_ < seq_.q_used;
    // redux: a value that the compiler knows to be the same for the warp, so that loops and descriptors stay uniform.
    const bool again = isa::redux_or(isa::bar_red_or(kConsumerBarrier, kThreads, bad) ? 1U : 0U) != 0U;
    if (isa::tid_x() == 128U) {
      isa::st_shared<u32>(ring_.verdict_word(), again ? 1U : 0U);
      isa::mbarrier_arrive(ring_.verdict());
    }
    return !again;
  }

  FOVEA_INLINE void await_key(i32 step) const { isa::mbarrier_wait_parity(ring_.k_full(step), ring_.parity(step)); }
  FOVEA_INLINE void issue_scores(i32 step) {
    isa::wgmma_fence();
    product<kSpec.element>(s_, q_, 64U * group_, WgmmaOperand<kSpec.k_tile(), Major::k>(ring_.k_tile(step)));
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
      factor[half] = raise_max(stats_, half, quad_max(seen), p_.scale_log2);
      const f32 shift = softmax_base(stats_.max[half]) * p_.scale_log2;
      FOVEA_UNROLL
      for (i32 i = 0; i < 2 * kKeyTiles; ++i) weigh_one(s_.at(i / 2, half, i % 2), stats_.sum[half], shift);
    }
    return factor;
  }
  FOVEA_INLINE void weigh_one(f32& score, f32& sum, f32 shift) const { fovea::weigh(score, sum, p_.scale_log2, shift); }

  FOVEA_INLINE void hide(i32 key0) {
    const i32 first = key0 + 2 * static_cast<i32>(isa::laneid() & 3U);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const i32 query = row_ + 8 * half;
      const i32 begin = query + seq_.left - first;
      const i32 end = min(seq_.kv_used, query + seq_.right + 1) - first;
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

  FOVEA_INLINE void write() {
    const f32 sink = p_.sink == nullptr ? kMinusInfinity : isa::ld_global<f32>(p_.sink + tile_.head_q * p_.sink_stride);
    FOVEA_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      const RowPlace place = row_place<kSpec>(p_, seq_, tile_, row_ + 8 * half);
      const f32 sum = quad_sum(stats_.sum[half]);
      if (place.query >= seq_.q_rows) continue;
      const bool query = place.query < seq_.q_used;  // other rows hold what Q's storage holds: anything
      const RowResult result = query ? finish_row(stats_.max[half] * p_.scale, sum, sink) : kEmptyRow;
      if (p_.lse != nullptr && (isa::laneid() & 3U) == 0) {
        isa::st_global<f32>(lse_of(p_, seq_, tile_, place), result.lse);
      }
      FOVEA_UNROLL
      for (i32 n = 0; n < kOutTiles; ++n) {
        const i64 element = place.out + 8 * n + 2 * static_cast<i32>(isa::laneid() & 3U);
        const u32 pair = pack2<kSpec.out>(o_.at(n, half, 0) * result.factor, o_.at(n, half, 1) * result.factor);
        isa::st_global<u32>(static_cast<u16*>(p_.out.data) + element, query ? pair : 0U);
      }
    }
  }

  const FwdParams& p_;
  const FwdTile& tile_;
  const FwdSequence& seq_;
  KeyBlocks blocks_;
  KeyRing<kSpec> ring_;
  WgmmaOperand<kSpec.q_tile(), Major::k> q_;
  u32 group_;
  i32 row_;                             // the lane's first
  i32 step_ = 0;                        // of the ring: goes on from pass to pass
  i32 block_ = 0;                       // of keys
  ValueClass class_ = ValueClass::all;  // of V elements that count
  RowStats stats_;
  WgmmaAcc<kSpec.tile_n> s_;
  WgmmaAcc<kSpec.head_dim_v> o_;
  Array<FragWgmmaA, kSpec.tile_n / 16> weights_;
};

// 128 threads of the producer, of which one works, then the consumers.
template <FwdSpec kSpec>
FOVEA_INLINE void fwd_wgmma(const FwdWgmmaParams& p) {
  static_assert(well_formed(kSpec) && kSpec.family == Family::wgmma);
  FwdTile tile;
  if (!fwd_tile<kSpec>(p.fwd, tile)) return;
  const FwdSequence seq = fwd_sequence(p.fwd, tile.batch);
  if (tile.row0 >= seq.q_rows) return;
  const KeyBlocks blocks = key_blocks<kSpec>(p.fwd, seq, tile);
  const KeyRing<kSpec> ring(SmemPtr{isa::smem_base()});
  if (isa::tid_x() == 0) {
    ring.init();
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  if (isa::tid_x() < 128U) {
    isa::setmaxnreg_dec<24>();
    if (isa::tid_x() == 0) produce<kSpec>(p, tile, seq, blocks, ring);
  } else {
    isa::setmaxnreg_inc<240>();
    Consumer<kSpec>(p.fwd, tile, seq, blocks, ring, isa::tid_x() / 128U - 1U).run();
  }
}

}  // namespace fovea::kernels
