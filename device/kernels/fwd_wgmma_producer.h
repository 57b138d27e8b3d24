// The producer of fwd_wgmma: one warp finds the CTA's tiles and brings Q, K and V of each by TMA, as far ahead of the
// consumers as buffers allow.
#pragma once

#include "attention/value_classes.h"
#include "kernels/fwd_wgmma_ring.h"

namespace fovea::kernels {

// Begins to bring a tile; `full` completes when all of it has landed. Rows past the tensor's end become zero.
template <SmemTile kTile>
FOVEA_INLINE void load_tile(SmemPtr tile, const TensorMap* map, SmemPtr full, i32 row, i32 head, i32 batch) {
  isa::mbarrier_arrive_expect_tx(full, kTile.bytes());
  FOVEA_UNROLL
  for (i32 panel = 0; panel < kTile.panels(); ++panel) {
    isa::tma_load_4d(tile + static_cast<u32>(panel) * kTile.panel_bytes(), map, full, 64 * panel, row, head, batch);
  }
}

// The ids of a CTA's tiles: its own index, then what the counter gives next, or every gridDim-th without a counter.
// The last CTA to find none leaves the counter as it was. Lane 0 asks; an answer is awaited one tile later.
class TileQueue {
 public:
  FOVEA_INLINE explicit TileQueue(const FwdWgmmaParams& p) : p_(p), next_(isa::ctaid_x()) {}

  FOVEA_INLINE bool take(u32& id) {
    id = isa::shfl_idx(next_, 0U);
    const bool some = id < p_.tiles;
    const u32 ctas = isa::nctaid_x();
    if (p_.counter == nullptr) {
      next_ = id + ctas;
    } else if (isa::laneid() == 0) {
      if (some) {
        next_ = ctas + isa::atom_add_global(p_.counter, 1U);
      } else if (isa::atom_inc_global(p_.counter + 1, ctas - 1U) == ctas - 1U) {
        isa::st_global<u32>(p_.counter, 0U);
      }
    }
    return some;
  }

 private:
  const FwdWgmmaParams& p_;
  u32 next_;
};

// Runs over the keys of a tile that has to run again: one for each class of V elements; see value_classes.h.
inline constexpr i32 kRedoPasses = static_cast<i32>(ValueClass::all);

template <FwdSpec kSpec>
class Producer {
 public:
  FOVEA_INLINE Producer(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring) : p_(p), ring_(ring), queue_(p) {}

  // The whole warp finds tiles, one ahead. Lane 0 alone waits and sends: another lane that fell behind it could miss a
  // phase.
  FOVEA_INLINE void run() {
    const bool leader = isa::laneid() == 0;
    bool some = stage_next();
    if (leader) send_q();
    for (i32 tiles = 0;; ++tiles) {
      if (!some) {
        if (leader && tiles > 0 && ring_.runs_again(tiles - 1)) run_again();
        return;
      }
      some = stage_next();
      if (leader) send_tile(tiles);
    }
  }

 private:
  // Finds a tile and puts it where the turn to come has its words; nobody reads what they held any more.
  FOVEA_INLINE bool stage_next() {
    WgmmaWork work{};
    work.kind = find(work) ? TurnKind::run : TurnKind::end;
    if (isa::laneid() == 0) st_shared_object(ring_.work(turn_), work);
    return work.kind == TurnKind::run;
  }
  FOVEA_INLINE bool find(WgmmaWork& work) {
    for (u32 id; queue_.take(id);) {
      if (!fwd_tile<kSpec>(p_.fwd, id, work.tile)) continue;
      work.seq = fwd_sequence(p_.fwd, work.tile.batch);
      if (work.tile.row0 >= work.seq.q_rows) continue;
      work.blocks = key_blocks<kSpec>(p_.fwd, work.seq, work.tile);
      return true;
    }
    return false;
  }

  // K and V of the tile whose Q was sent last, and Q of the next one as soon as it is known that the tile before does
  // not run again.
  FOVEA_INLINE void send_tile(i32 tiles) {
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_ - 1));
    bool settled = tiles == 0;
    bool next_sent = false;
    i32 sent = 0;
    for (i32 block = work.blocks.last - 1; block >= work.blocks.first; --block) {
      send_block(work, block);
      // Consumers that hand back the tile's first block have given their verdict on the tile before.
      if (sent++ != kSpec.stages) continue;
      settled = settled || !ring_.runs_again(tiles - 1);
      if (settled) send_q();
      next_sent = settled;
    }
    if (next_sent) return;
    if (settled || !ring_.runs_again(tiles - 1)) {
      send_q();
      return;
    }
    copy_work(turn_, turn_ + 2);
    run_again();
    send_q();
  }

  // The turn before the last once more, for every class of V elements, and then the last, which was for nothing.
  FOVEA_INLINE void run_again() {
    const i32 turn = turn_ - 2;
    for (i32 i = 0; i < 2; ++i) {
      copy_work(turn + i, turn_);
      if (i == 0) isa::st_shared<u32>(ring_.work(turn_), static_cast<u32>(TurnKind::redo));
      send_q();
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_ - 1));
      for (i32 pass = 0; pass < (i == 0 ? kRedoPasses : 1); ++pass) {
        for (i32 block = work.blocks.last - 1; block >= work.blocks.first; --block) send_block(work, block);
      }
    }
  }

  FOVEA_INLINE void copy_work(i32 from, i32 to) const {
    st_shared_object(ring_.work(to), ld_shared_object<WgmmaWork>(ring_.work(from)));
  }

  // Begins a turn: Q of its tile. The words are there already.
  FOVEA_INLINE void send_q() {
    isa::mbarrier_wait_parity(ring_.q_empty(turn_), ring_.turn_parity(turn_) ^ 1U);
    const i32 turn = turn_++;
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
    if (work.kind == TurnKind::end) {
      isa::mbarrier_arrive(ring_.q_full(turn));
      return;
    }
    load_tile<kSpec.q_tile()>(ring_.q_tile(turn), &p_.q, ring_.q_full(turn), work.seq.q_begin + work.tile.row0,
                              work.tile.head_q, work.seq.q_batch);
  }

  FOVEA_INLINE void send_block(const WgmmaWork& work, i32 block) {
    const i32 row = work.seq.kv_begin + block * kSpec.tile_n;
    isa::mbarrier_wait_parity(ring_.k_empty(step_), ring_.parity(step_) ^ 1U);
    load_tile<kSpec.k_tile()>(ring_.k_tile(step_), &p_.k, ring_.k_full(step_), row, work.tile.head_kv,
                              work.seq.kv_batch);
    isa::mbarrier_wait_parity(ring_.v_empty(step_), ring_.parity(step_) ^ 1U);
    load_tile<kSpec.v_tile()>(ring_.v_tile(step_), &p_.v, ring_.v_full(step_), row, work.tile.head_kv,
                              work.seq.kv_batch);
    ++step_;
  }

  const FwdWgmmaParams& p_;
  WgmmaRing<kSpec> ring_;
  TileQueue queue_;
  i32 turn_ = 0;
  i32 step_ = 0;
};

}  // namespace fovea::kernels
