// The producer of fwd_wgmma: one warp finds the CTA's tiles and brings Q, K and V of each by TMA, as far ahead of the
// consumers as buffers allow.
#pragma once

#include "attention/epilogue.h"
#include "attention/value_classes.h"
#include "kernels/fwd_wgmma_bias.h"
#include "kernels/fwd_wgmma_mask_ring.h"

namespace fovea::kernels {

// Begins to bring a tile from its place in the map; `full` completes when all of it has landed. What lies past the
// tensor's end becomes zero.
template <SmemTile kTile>
FOVEA_INLINE void load_tile(SmemPtr tile, const TensorMap* map, SmemPtr full, i32 c1, i32 c2, i32 c3) {
  isa::mbarrier_arrive_expect_tx(full, kTile.bytes());
  FOVEA_UNROLL
  for (i32 panel = 0; panel < kTile.panels(); ++panel) {
    isa::tma_load_4d(tile + static_cast<u32>(panel) * kTile.panel_bytes(), map, full, 64 * panel, c1, c2, c3);
  }
}

// The same for rows [key0, key0 + kTile.rows) of a sequence's pages, in boxes that lie inside a page. Pages
// past the used keys are not looked up: rows past the page's end become zero as well.
template <SmemTile kTile>
FOVEA_INLINE void load_pages(SmemPtr tile, const TensorMap* map, SmemPtr full, i32 key0, const FwdParams& p,
                             const WgmmaWork& work) {
  constexpr i32 kBoxes = kTile.rows / kMinPageRows;
  const i32 rows = p.page_box;
  Array<i32, kBoxes> page;
  FOVEA_UNROLL
  for (i32 box = 0; box < kBoxes; ++box) {
    const i32 key = key0 + box * rows;
    page[box] = -1;
    if (box * rows >= kTile.rows || key >= work.seq.kv_used) continue;
    page[box] = page_of(p, work.seq.batch, page_index(p, key));
  }
  isa::mbarrier_arrive_expect_tx(full, kTile.bytes());
  FOVEA_UNROLL
  for (i32 box = 0; box < kBoxes; ++box) {
    if (box * rows >= kTile.rows) break;
    const i32 key = key0 + box * rows;
    const i32 slot = key - page_index(p, key) * p.page_size;
    FOVEA_UNROLL
    for (i32 panel = 0; panel < kTile.panels(); ++panel) {
      isa::tma_load_4d(tile + kTile.offset(static_cast<u32>(box * rows), static_cast<u32>(64 * panel)), map, full,
                       64 * panel, page[box] < 0 ? p.page_size : slot, work.tile.head_kv, max(page[box], 0));
    }
  }
}

// The ids of a CTA's tiles: its own index, then what the counter gives next, or every gridDim-th without a counter.
// The last CTA to find none leaves the counter as it was. Lane 0 asks; an answer is awaited one tile later, so nothing
// is computed from it before.
class TileQueue {
 public:
  FOVEA_INLINE explicit TileQueue(const FwdWgmmaParams& p) : p_(p), next_(isa::ctaid_x()) {}

  FOVEA_INLINE bool take(u32& id) {
    const u32 ctas = isa::nctaid_x();
    id = isa::shfl_idx(next_, 0U) + first_;
    first_ = ctas;
    const bool some = id < p_.tiles;
    if (p_.counter == nullptr) {
      next_ = id;
    } else if (isa::laneid() == 0) {
      if (some) {
        next_ = isa::atom_add_global(p_.counter, 1U);
      } else if (isa::atom_inc_global(p_.counter + 1, ctas - 1U) == ctas - 1U) {
        isa::st_global<u32>(p_.counter, 0U);
      }
    }
    return some;
  }

 private:
  const FwdWgmmaParams& p_;
  u32 next_;       // without first_
  u32 first_ = 0;  // the first id that the counter gives
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
    stage_next();
    if (leader()) {
      ask_for_staged();
      send_q();
    }
    i32 tiles = 0;
    for (; staged_ == TurnKind::run; ++tiles) {
      if constexpr (kSpec.scans_mask()) {
        send_masked_tile(tiles);
      } else {
        send_tile(tiles);
      }
    }
    if (!leader()) return;
    if (tiles > 0 && ring_.runs_again(tiles - 1)) run_again();
    if (kAsks) ask(TileRequests::kEnd);
  }

 private:
  static constexpr i32 kStages = kSpec.stages;
  // Whether other warps work for it, on a mask or, where there is none, on a bias.
  static constexpr bool kAsks = kSpec.scans_mask() || kSpec.copies_bias();
  // One lane, always the same; all lanes ask. Inside, ptxas knows that no other lane takes part: TMA's operands go
  // straight to uniform registers, where after a comparison with the lane's index a loop over lanes brings them.
  FOVEA_INLINE static bool leader() { return isa::elect_sync(); }

  // Finds a tile and puts it where the turn to come has its words; nobody reads what they held any more.
  FOVEA_INLINE void stage_next() {
    WgmmaWork work{};
    work.kind = find(work) ? TurnKind::run : TurnKind::end;
    if (leader()) {
      st_shared_object(ring_.work(turn_), work);
      st_shared_object(ring_.rows(turn_), rows_of(work));
    }
    if constexpr (kSpec.own_blocks()) stage_own_blocks(work);
    staged_ = work.kind;
    staged_blocks_ = work.blocks.last - work.blocks.first;
  }
  FOVEA_INLINE bool find(WgmmaWork& work) {
    for (u32 id; queue_.take(id);) {
      if (!fwd_tile<kSpec>(p_.fwd, id, work.tile)) continue;
      work.seq = fwd_sequence(p_.fwd, work.tile.batch);
      if (query_of<kSpec>(p_.fwd, work.tile.row0) >= work.seq.q_rows) continue;
      work.blocks = key_blocks<kSpec>(p_.fwd, work.seq, work.tile);
      return true;
    }
    return false;
  }

  // Of each consumer's 64 rows: a lane for each consumer finds them, the leader writes them.
  FOVEA_INLINE void stage_own_blocks(const WgmmaWork& work) const {
    const i32 first_row = work.tile.row0 + static_cast<i32>(64U * isa::laneid());
    const i32 first_query = query_of<kSpec>(p_.fwd, first_row);
    const i32 last_query = min(query_of<kSpec>(p_.fwd, first_row + 63), work.seq.q_used - 1);
    const KeyBlocks own = key_blocks<kSpec.tile_n>(work.seq, first_query, last_query, 0, work.seq.kv_used);
    FOVEA_UNROLL
    for (u32 group = 0; group < kSpec.consumers(); ++group) {
      const auto of_group = [group](i32 x) { return static_cast<i32>(isa::shfl_idx(static_cast<u32>(x), group)); };
      const KeyBlocks found{of_group(own.first), of_group(own.last), of_group(own.clean_first),
                            of_group(own.clean_last)};
      if (leader()) st_shared_object(ring_.own_blocks(turn_, group), found);
    }
  }
  FOVEA_INLINE TileRows rows_of(const WgmmaWork& work) const {
    const RowPlace first = row_place<kSpec>(p_.fwd, work.seq, work.tile, work.tile.row0);
    f32* const lse = p_.fwd.lse == nullptr ? nullptr : lse_of(p_.fwd, work.seq, work.tile, first);
    const i32 heads = heads_per_tile<kSpec>(p_.fwd);
    return {lse, work.seq.q_used * heads - work.tile.row0, work.seq.q_rows * heads - work.tile.row0};
  }

  // K and V of the tile whose Q was sent last, and Q of the next one. Each K goes before the V of the block before it,
  // and the next tile's first K before the last V: the order in which the consumers hand buffers back.
  FOVEA_INLINE void send_tile(i32 tiles) {
    const i32 blocks = staged_blocks_;
    const i32 turn = turn_ - 1;
    bool settled = tiles == 0;  // whether the tile before is known not to run again
    bool next_sent = false;
    if (blocks == 0) {
      stage_next();
    } else if (leader()) {
      if (!first_key_sent_) send_first_k(turn);
      send_bias(turn, 0);
    }
    first_key_sent_ = false;
    for (i32 i = 0; i < blocks; ++i) {
      // The ring is full, or the tile ends: time to look for the next one.
      if (i == min(kStages, blocks) - 1) stage_next();
      if (!leader()) continue;
      if (i + 1 < blocks) {
        send_k(turn, i + 1);
        // Consumers that hand back the tile's first K have given their verdict on the tile before.
        if (i + 1 == kStages) {
          settled = settled || !ring_.runs_again(tiles - 1);
          next_sent = settled && kSpec.q_tiles() == 2;
          if (next_sent) send_q();
        }
      } else if (settled && staged_blocks_ > 0) {
        send_first_k(turn + 1);
        first_key_sent_ = true;
      }
      send_v(turn, i);
      if (i + 1 < blocks) send_bias(turn, i + 1);
    }
    if (!leader() || next_sent) return;
    if (!settled && ring_.runs_again(tiles - 1)) {
      copy_work(turn_, turn_ + 2);
      run_again();
    }
    send_q();
  }

  // The same where a mask decides which blocks there are, one after the other.
  FOVEA_INLINE void send_masked_tile(i32 tiles) {
    const bool some = staged_blocks_ > 0;
    const i32 turn = turn_ - 1;
    bool settled = tiles == 0;
    bool asked = false;  // for a look at the next tile
    i32 before = 0;      // the block whose V is due
    if (!some) stage_next();
    bool last = !some;
    for (i32 i = 0; !last; ++i) {
      MaskStep step{};
      if (leader()) step = mask_.await(k_step_);
      last = isa::shfl_idx(step.last ? 1U : 0U, 0U) != 0U;
      if (i == kStages - 1 || (last && i < kStages - 1)) stage_next();
      if (!leader()) continue;
      send_k(turn, step.block);
      if (i == kStages) {  // as in send_tile()
        settled = settled || !ring_.runs_again(tiles - 1);
        asked = settled;
        if (settled) ask_for_staged();
      }
      if (i > 0) send_v(turn, before);
      send_bias(turn, step.block);
      before = step.block;
    }
    if (!leader()) return;
    if (some) send_v(turn, before);
    if (!settled && ring_.runs_again(tiles - 1)) {
      copy_work(turn_, turn_ + 2);
      run_again();
    }
    if (!asked) ask_for_staged();
    send_q();
  }
  // For a look at the mask of the tile whose turn comes next.
  FOVEA_INLINE void ask_for_staged() {
    if (kSpec.scans_mask() && staged_ == TurnKind::run && staged_blocks_ > 0) ask(turn_);
  }

  // The turn before the last once more, for every class of V elements, and then the last, which was for nothing.
  FOVEA_INLINE void run_again() {
    const i32 turn = turn_ - 2;
    for (i32 i = 0; i < 2; ++i) {
      copy_work(turn + i, turn_);
      if (i == 0) isa::st_shared<u32>(ring_.work(turn_), static_cast<u32>(TurnKind::redo));
      send_q();
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn_ - 1));
      const i32 blocks = work.blocks.last - work.blocks.first;
      const i32 passes = blocks > 0 ? (i == 0 ? kRedoPasses : 1) : 0;
      if constexpr (kSpec.scans_mask()) {
        for (i32 pass = 0; pass < passes; ++pass) send_masked_pass();
      } else {
        for (i32 n = 0; n < passes * blocks; ++n) {
          if (n % blocks == 0) {
            send_first_k(turn_ - 1);
          } else {
            send_k(turn_ - 1, n % blocks);
          }
          send_v(turn_ - 1, n % blocks);
          send_bias(turn_ - 1, n % blocks);
        }
      }
    }
  }
  // K and V of the last turn's tile, whose mask is looked at once more.
  FOVEA_INLINE void send_masked_pass() {
    ask(turn_ - 1);
    for (bool last = false; !last;) {
      const MaskStep step = mask_.await(k_step_);
      last = step.last;
      send_k(turn_ - 1, step.block);
      send_v(turn_ - 1, step.block);
      send_bias(turn_ - 1, step.block);
    }
  }

  FOVEA_INLINE void copy_work(i32 from, i32 to) const {
    st_shared_object(ring_.work(to), ld_shared_object<WgmmaWork>(ring_.work(from)));
    st_shared_object(ring_.rows(to), ld_shared_object<TileRows>(ring_.rows(from)));
    if constexpr (kSpec.own_blocks()) {
      FOVEA_UNROLL
      for (u32 group = 0; group < kSpec.consumers(); ++group) {
        st_shared_object(ring_.own_blocks(to, group), ld_shared_object<KeyBlocks>(ring_.own_blocks(from, group)));
      }
    }
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
    const i32 query = work.seq.q_begin + query_of<kSpec>(p_.fwd, work.tile.row0);
    const i32 head = work.tile.head_q;
    constexpr bool kGroup = kSpec.rows == Rows::group;
    load_tile<kSpec.q_tile()>(ring_.q_tile(turn), &p_.q, ring_.q_full(turn), kGroup ? head : query,
                              kGroup ? query : head, work.seq.q_batch);
  }

  FOVEA_INLINE static i32 first_key(const WgmmaWork& work, i32 i) {
    return (kSpec.scans_mask() ? i : work.blocks.last - 1 - i) * kSpec.tile_n;
  }
  // Of other warps, a look at a mask or copies of a bias.
  FOVEA_INLINE void ask(i32 turn) { (kSpec.scans_mask() ? mask_.scans() : bias_.requests()).ask(requests_++, turn); }
  // Of a turn's first block, whose bias is copied with those behind it.
  FOVEA_INLINE void send_first_k(i32 turn) {
    send_k(turn, 0);
    if (kSpec.copies_bias()) ask(turn);
  }
  // K and V of the i-th block that a turn's tile takes, from the last to the first; with a mask, of block i.
  FOVEA_INLINE void send_k(i32 turn, i32 i) {
    isa::mbarrier_wait_parity(ring_.k_empty(k_step_), ring_.parity(k_step_) ^ 1U);
    load_block<kSpec.k_tile()>(ring_.k_tile(k_step_), &p_.k, ring_.k_full(k_step_), turn, i);
    ++k_step_;
  }
  FOVEA_INLINE void send_v(i32 turn, i32 i) {
    isa::mbarrier_wait_parity(ring_.v_empty(v_step_), ring_.parity(v_step_) ^ 1U);
    load_block<kSpec.v_tile()>(ring_.v_tile(v_step_), &p_.v, ring_.v_full(v_step_), turn, i);
    ++v_step_;
  }
  // After the V of the block before: consumers are done with that one's bias later than with the V before it.
  FOVEA_INLINE void send_bias(i32 turn, i32 i) {
    if constexpr (kSpec.bias_tiles && !kSpec.copies_bias()) {
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
      bias_.load(bias_step_++, p_, work, first_key(work, i));
    }
  }
  template <SmemTile kTile>
  FOVEA_INLINE void load_block(SmemPtr tile, const TensorMap* map, SmemPtr full, i32 turn, i32 i) const {
    const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
    const i32 key0 = first_key(work, i);
    if constexpr (kSpec.loads == Loads::paged) {
      load_pages<kTile>(tile, map, full, key0, p_.fwd, work);
    } else {
      load_tile<kTile>(tile, map, full, work.seq.kv_begin + key0, work.tile.head_kv, work.seq.kv_batch);
    }
  }

  const FwdWgmmaParams& p_;
  WgmmaRing<kSpec> ring_;
  TileQueue queue_;
  TurnKind staged_ = TurnKind::end;  // what was found last
  i32 staged_blocks_ = 0;
  bool first_key_sent_ = false;  // of the tile that is sent next
  i32 turn_ = 0;                 // of lane 0, as are the steps: the next to be sent
  i32 k_step_ = 0, v_step_ = 0, bias_step_ = 0;
  MaskRing<kSpec> mask_;
  BiasRing<kSpec> bias_;
  i32 requests_ = 0;
};

}  // namespace fovea::kernels
