// Which tile a CTA computes. Heads go in groups, one behind the other, so that several CTAs work on the same K and V,
// or on the same mask or bias, at about the same time (src/plan/tile_order.h); within a group the last query tiles come
// first, because under a causal band they have the most keys (longest processing time first). The splits of a tile are
// neighbours. One linear grid: no dimension is limited to 65,535.
#pragma once

#include "attention/sequence.h"

namespace fovea {

struct FwdTile {
  i32 batch;
  i32 head_q;  // Rows::group: the first of the group
  i32 head_kv;
  i32 row0;  // first row; Rows::group: row = query * group + head in the group
  i32 split;
};

// Heads of a tile's rows.
template <FwdSpec kSpec>
FOVEA_INLINE i32 heads_per_tile(const FwdParams& p) {
  return kSpec.rows == Rows::group ? p.group : 1;
}

// The query of a row, and the head of that row.
template <FwdSpec kSpec>
FOVEA_INLINE i32 query_of(const FwdParams& p, i32 row) {
  if constexpr (kSpec.rows == Rows::head) return row;
  if constexpr (kSpec.family == Family::wgmma) return row >> isa::popc(static_cast<u32>(p.group - 1));
  return quotient(row, p.by_group);
}

template <FwdSpec kSpec>
FOVEA_INLINE i32 head_of(const FwdParams& p, const FwdTile& tile, i32 row, i32 query) {
  return kSpec.rows == Rows::head ? tile.head_q : tile.head_q + row - query * p.group;
}

// Finds the sequence of tile `tile` of packed storage, where every sequence begins a new tile. False: past the last.
// All lanes of a warp take part.
template <FwdSpec kSpec>
FOVEA_INLINE bool locate_packed_tile(const FwdParams& p, i32 tile, FwdTile& result) {
  const i32 lane = static_cast<i32>(isa::laneid());
  for (i32 first = 0; first < p.batch; first += 32) {
    const i32 batch = first + lane;
    i32 tiles = 0;
    if (batch < p.batch) {
      const RowRange rows = packed_rows(p.cu_q, p.cu_q_stride, batch, p.seqlen_q);
      tiles = ceil_div(rows.rows * heads_per_tile<kSpec>(p), kSpec.tile_m);
    }
    i32 end = tiles;  // of this lane's tiles, counted from the first lane's
    FOVEA_UNROLL
    for (u32 delta = 1; delta < 32; delta *= 2) {
      const i32 before = static_cast<i32>(isa::shfl_up(static_cast<u32>(end), delta));
      if (lane >= static_cast<i32>(delta)) end += before;
    }
    const u32 past = isa::vote_ballot(end > tile);
    if (past != 0) {
      const u32 owner = isa::popc((past & (0U - past)) - 1U);
      result.batch = first + static_cast<i32>(owner);
      const i32 begin = static_cast<i32>(isa::shfl_idx(static_cast<u32>(end - tiles), owner));
      result.row0 = (tile - begin) * kSpec.tile_m;
      return true;
    }
    tile -= static_cast<i32>(isa::shfl_idx(static_cast<u32>(end), 31U));
  }
  return false;
}

// Tile `id` of the grid. False: there is none. All lanes of a warp take part.
template <FwdSpec kSpec>
FOVEA_INLINE bool fwd_tile(const FwdParams& p, u32 id, FwdTile& tile) {
  const u32 splits = static_cast<u32>(p.num_splits);
  const u32 split = splits == 1U ? 0U : id % splits;
  id = splits == 1U ? id : id / splits;
  const bool packed = p.cu_q != nullptr;
  const u32 heads_q = static_cast<u32>(p.num_heads_q);
  const u32 heads_each = kSpec.rows == Rows::group ? heads_q / static_cast<u32>(p.group) : heads_q;
  const u32 tiles_m = static_cast<u32>(p.tiles_m);
  const u32 group_heads = static_cast<u32>(p.heads_in_flight);
  const u32 last_group = static_cast<u32>(p.head_groups) - 1U;
  const u32 by_id = id / (group_heads * tiles_m);
  const u32 group = by_id < last_group ? by_id : last_group;
  const u32 in_group = id - group * group_heads * tiles_m;
  const u32 all_heads = packed ? heads_each : static_cast<u32>(p.batch) * heads_each;
  const u32 heads = group < last_group ? group_heads : all_heads - group * group_heads;
  const u32 tile_m = tiles_m - 1U - in_group / heads;
  const u32 head_of_all = group * group_heads + in_group % heads;  // over batch and heads
  const bool batches_first = kSpec.views() && p.batches_first != 0;
  const u32 neighbours = batches_first ? static_cast<u32>(p.batch) : heads_each;
  const u32 outer = head_of_all / neighbours;
  const u32 inner = head_of_all - outer * neighbours;
  const i32 head = static_cast<i32>(batches_first ? outer : inner);
  tile.batch = static_cast<i32>(batches_first ? inner : outer);
  tile.head_q = kSpec.rows == Rows::group ? head * p.group : head;
  tile.head_kv =
      kSpec.rows == Rows::group ? head : static_cast<i32>(static_cast<u32>(head) / static_cast<u32>(p.group));
  tile.row0 = static_cast<i32>(tile_m) * kSpec.tile_m;
  tile.split = static_cast<i32>(split);
  return !packed || locate_packed_tile<kSpec>(p, static_cast<i32>(tile_m), tile);
}

}  // namespace fovea
