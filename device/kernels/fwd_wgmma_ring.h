// What producer and consumers of fwd_wgmma exchange through shared memory: barriers, the tile that is computed, and
// whether a tile has to run again.
//
// Time is counted in turns (a tile's rows and keys sent once), steps (a block of keys sent once) and runs (turns that
// compute a tile for the first time); both sides count alike, and an index says which buffer and which phase is meant.
#pragma once

#include "attention/score_views.h"
#include "attention/visibility.h"
#include "spec/fwd_wgmma_params.h"

namespace fovea::kernels {

// run: a tile's first sums. redo: those of the tile before once more, per class of V elements. end: no more tiles.
enum class TurnKind : u32 { run, redo, end };

// The rows of a tile: lse of its first (null: not wanted), how many from there on are queries, and how many are
// stored.
struct alignas(16) TileRows {
  f32* lse;
  i32 used, stored;
};

// What a turn is about. The kind comes first: it is replaced alone.
struct alignas(16) WgmmaWork {
  TurnKind kind;
  FwdTile tile;
  FwdSequence seq;
  KeyBlocks blocks;
};

// How far from the lse of a tile's first row that of its `row`-th lies. A tile begins with the first head of a query.
template <FwdSpec kSpec>
FOVEA_INLINE i64 lse_from(const FwdParams& p, i32 row) {
  const i32 query = query_of<kSpec>(p, row);
  const i64 from = query * p.lse_s;
  return kSpec.rows == Rows::head ? from : from + (row - query * p.group) * p.lse_h;
}

// The first row of a tile in a mask or bias, whose elements have kBytes, and the tile's last row that is a query.
template <FwdSpec kSpec, i32 kBytes>
FOVEA_INLINE const u8* first_row_of(const ScoreTensor& view, const WgmmaWork& work) {
  const i64 base = view_base<kSpec>(view, work.tile);
  return static_cast<const u8*>(view.data) +
         kBytes * view_row<kSpec>(view, base, work.tile, work.tile.head_q, work.tile.row0);
}
template <FwdSpec kSpec>
FOVEA_INLINE i32 last_row_of(const ScoreTensor& view, const WgmmaWork& work) {
  return max(min(min(work.seq.q_used, view.rows) - work.tile.row0, kSpec.tile_m) - 1, 0);
}

// A T in shared memory, 16-byte aligned.
template <class T>
FOVEA_INLINE void st_shared_object(SmemPtr to, const T& value) {
  static_assert(sizeof(T) % 16 == 0);
  const auto pieces = __builtin_bit_cast(Array<U32x4, sizeof(T) / 16>, value);
  FOVEA_UNROLL
  for (i32 i = 0; i < pieces.kSize; ++i) isa::st_shared<U32x4>(to + 16U * static_cast<u32>(i), pieces[i]);
}
template <class T>
FOVEA_INLINE T ld_shared_object(SmemPtr from) {
  static_assert(sizeof(T) % 16 == 0);
  Array<U32x4, sizeof(T) / 16> pieces;
  FOVEA_UNROLL
  for (i32 i = 0; i < pieces.kSize; ++i) pieces[i] = isa::ld_shared<U32x4>(from + 16U * static_cast<u32>(i));
  return __builtin_bit_cast(T, pieces);
}

template <FwdSpec kSpec>
class WgmmaRing {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);
  static constexpr u32 kStages = static_cast<u32>(kSpec.stages);
  static constexpr u32 kConsumers = kSpec.consumers();
  // Turn t is sent once all warps have left the products with Q of turn t - kQTiles, and with them all they read of the
  // turns before that one. So nothing of these numbers is written anew while somebody reads what it held.
  static constexpr u32 kQTiles = static_cast<u32>(kSpec.q_tiles());
  static constexpr u32 kVerdicts = 4;
  static constexpr u32 kWorks = 8;  // two more for what the producer puts aside
  static_assert(kQTiles + 1 < kVerdicts && kQTiles + 4 < kWorks);

  // Byte offsets of 8-byte barriers, of the verdicts' words and of the tiles.
  static constexpr u32 kQFull = 0, kQEmpty = 16, kVerdict = 32, kFull = 64, kEmpty = 128, kWords = 192;
  static constexpr u32 kOutFull = 384, kOutEmpty = 408, kOutWord = 432, kWork = 448;
  static constexpr u32 kRows = kWork + kWorks * sizeof(WgmmaWork), kOwn = kRows + kWorks * sizeof(TileRows);
  static_assert(kStages <= 4 && kConsumers <= 3 && kOwn + kWorks * kConsumers * sizeof(KeyBlocks) <= kSmem.q);

 public:
  FOVEA_INLINE explicit WgmmaRing(SmemPtr smem) : smem_(smem) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kQTiles); ++i) {
      isa::mbarrier_init(q_full(i), 1U);
      isa::mbarrier_init(q_empty(i), 4U * kConsumers);
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kVerdicts); ++i) {
      isa::mbarrier_init(verdict(i), 4U * kConsumers);
      FOVEA_UNROLL
      for (u32 warp = 0; warp < 4U * kConsumers; ++warp) isa::st_shared<u32>(verdict_words(i) + 4U * warp, 0U);
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kStages); ++i) {
      isa::mbarrier_init(k_full(i), 1U);
      isa::mbarrier_init(v_full(i), 1U);
      isa::mbarrier_init(k_empty(i), kConsumers);
      isa::mbarrier_init(v_empty(i), kConsumers);
    }
    FOVEA_UNROLL
    for (u32 group = 0; group < (kSpec.sends_apart() ? kConsumers : 0U); ++group) {
      isa::mbarrier_init(out_full(group), 128U);
      isa::mbarrier_init(out_empty(group), 32U);
    }
  }

  // Of a turn. Every warp of the consumers says when it has left the products with Q, and all it read of earlier turns.
  FOVEA_INLINE SmemPtr q_full(i32 turn) const { return smem_ + (kQFull + 8U * q_slot(turn)); }
  FOVEA_INLINE SmemPtr q_empty(i32 turn) const { return smem_ + (kQEmpty + 8U * q_slot(turn)); }
  FOVEA_INLINE static u32 turn_parity(i32 turn) { return static_cast<u32>(turn) / kQTiles % 2U; }
  FOVEA_INLINE SmemPtr work(i32 turn) const {
    return smem_ + (kWork + static_cast<u32>(turn) % kWorks * static_cast<u32>(sizeof(WgmmaWork)));
  }
  FOVEA_INLINE SmemPtr rows(i32 turn) const {
    return smem_ + (kRows + static_cast<u32>(turn) % kWorks * static_cast<u32>(sizeof(TileRows)));
  }
  // The blocks that some row of a consumer sees, where kSpec.own_blocks().
  FOVEA_INLINE SmemPtr own_blocks(i32 turn, u32 group) const {
    const u32 index = static_cast<u32>(turn) % kWorks * kConsumers + group;
    return smem_ + (kOwn + index * static_cast<u32>(sizeof(KeyBlocks)));
  }
  FOVEA_INLINE SmemPtr q_tile(i32 turn) const { return smem_ + (kSmem.q + q_slot(turn) * kSpec.q_tile().bytes()); }
  FOVEA_INLINE SmemPtr out_tile() const { return smem_ + kSmem.out; }
  // Of a consumer's part of the output tile: all its threads fill it, all lanes of a warp hand it back; the turn it is
  // from.
  FOVEA_INLINE SmemPtr out_full(u32 group) const { return smem_ + (kOutFull + 8U * group); }
  FOVEA_INLINE SmemPtr out_empty(u32 group) const { return smem_ + (kOutEmpty + 8U * group); }
  FOVEA_INLINE SmemPtr out_word(u32 group) const { return smem_ + (kOutWord + 4U * group); }

  // Of a step. The parity is that of the phase in which its tile is full; the producer waits for the one before.
  FOVEA_INLINE SmemPtr k_full(i32 step) const { return smem_ + (kFull + 16U * slot(step)); }
  FOVEA_INLINE SmemPtr v_full(i32 step) const { return smem_ + (kFull + 8U + 16U * slot(step)); }
  FOVEA_INLINE SmemPtr k_empty(i32 step) const { return smem_ + (kEmpty + 16U * slot(step)); }
  FOVEA_INLINE SmemPtr v_empty(i32 step) const { return smem_ + (kEmpty + 8U + 16U * slot(step)); }
  FOVEA_INLINE SmemPtr k_tile(i32 step) const { return smem_ + (kSmem.stage0 + slot(step) * kSmem.stage_bytes); }
  FOVEA_INLINE SmemPtr v_tile(i32 step) const { return k_tile(step) + kSmem.v_in_stage; }
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step) / kStages % 2U; }

  // One warp's word on a run: whether its rows have sums that are not finite. A run that it wants again leaves its
  // number, plus 1, so that nothing has to be cleared.
  FOVEA_INLINE void give_verdict(i32 run, u32 warp, bool again) const {
    if (again && isa::laneid() == 0) isa::st_shared<u32>(verdict_words(run) + 4U * warp, wanted(run));
    if (isa::laneid() == 0) isa::mbarrier_arrive(verdict(run));
  }
  // Waits for all of them.
  FOVEA_INLINE bool runs_again(i32 run) const {
    isa::mbarrier_wait_parity(verdict(run), static_cast<u32>(run) / kVerdicts % 2U);
    bool any = false;
    FOVEA_UNROLL
    for (u32 group = 0; group < kConsumers; ++group) {
      const auto words = isa::ld_shared<U32x4>(verdict_words(run) + 16U * group);
      any = any || words.x == wanted(run) || words.y == wanted(run) || words.z == wanted(run) || words.w == wanted(run);
    }
    return any;
  }

 private:
  FOVEA_INLINE static u32 q_slot(i32 turn) { return static_cast<u32>(turn) % kQTiles; }
  FOVEA_INLINE static u32 slot(i32 step) { return static_cast<u32>(step) % kStages; }
  FOVEA_INLINE SmemPtr verdict(i32 run) const { return smem_ + (kVerdict + 8U * (static_cast<u32>(run) % kVerdicts)); }
  FOVEA_INLINE static u32 wanted(i32 run) { return static_cast<u32>(run) + 1U; }
  // A word for each warp.
  FOVEA_INLINE SmemPtr verdict_words(i32 run) const {
    return smem_ + (kWords + 16U * kConsumers * (static_cast<u32>(run) % kVerdicts));
  }

  SmemPtr smem_;
};

}  // namespace fovea::kernels
