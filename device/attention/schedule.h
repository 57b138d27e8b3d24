// Which tile a CTA computes. Tiles of heads whose K and V fit the level-2 cache together run at about the same time;
// within such a group the last query tiles come first, because under a causal band they have the most keys (longest
// processing time first). One linear grid: no dimension is limited to 65,535.
#pragma once

#include "isa/isa.h"
#include "spec/fwd_params.h"

namespace fovea {

struct FwdTile {
  i32 batch, head_q, head_kv;
  i32 row0;  // first query row
};

template <i32 kTileM>
FOVEA_INLINE FwdTile fwd_tile(const FwdParams& p) {
  const u32 id = isa::ctaid_x();
  const u32 tiles_m = static_cast<u32>(p.tiles_m);
  const u32 group_heads = static_cast<u32>(p.heads_in_flight);
  const u32 group = id / (group_heads * tiles_m);
  const u32 in_group = id - group * group_heads * tiles_m;
  const u32 all_heads = static_cast<u32>(p.batch) * static_cast<u32>(p.num_heads_q);
  const u32 left = all_heads - group * group_heads;
  const u32 heads = left < group_heads ? left : group_heads;
  const u32 tile_m = tiles_m - 1U - in_group / heads;
  const u32 head = group * group_heads + in_group % heads;  // over batch and heads
  const u32 batch = head / static_cast<u32>(p.num_heads_q);
  const u32 head_q = head - batch * static_cast<u32>(p.num_heads_q);
  return {.batch = static_cast<i32>(batch),
          .head_q = static_cast<i32>(head_q),
          .head_kv = static_cast<i32>(head_q / static_cast<u32>(p.group)),
          .row0 = static_cast<i32>(tile_m) * kTileM};
}

}  // namespace fovea
