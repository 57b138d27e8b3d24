// FwdParams: what a forward kernel is launched with. Pointers, 64-bit strides in elements, and the geometry of the
// call; everything that would change the code is in FwdSpec instead. One layout for host and device: fixed-width
// members only.
#pragma once

#include "base/types.h"

namespace fovea {

// q, k, v or out: element (b, s, h, d) lies at data + b*stride_b + s*stride_s + h*stride_h + d.
struct RowTensor {
  void* data;
  i64 stride_b, stride_s, stride_h;
};

struct FwdParams {
  RowTensor q, k, v, out;
  f32* lse;  // element (b, h, s); null unless the spec has it
  i64 lse_b, lse_h, lse_s;
  const f32* sink;  // [Hq], null unless the spec has it
  i64 sink_stride;

  i32 batch, num_heads_q, group;  // group = num_heads_q / num_heads_kv
  i32 seqlen_q, seqlen_kv;
  i32 tiles_m;          // ceil(seqlen_q / tile_m)
  i32 heads_in_flight;  // (batch, head) pairs whose K and V share the level-2 cache; see attention/schedule.h
  // Key j is visible to query i iff i + left <= j <= i + right, where the spec's band says so. Clamped to +-2^30.
  i32 left, right;

  f32 scale_log2;    // softmax_scale * log2(e)
  f32 softcap_log2;  // softcap * log2(e); 0 = off; general form only
  f32 softcap_in;    // 2 * log2(e) * softmax_scale / softcap: what the product is multiplied by inside tanh
};

static_assert(sizeof(FwdParams) % 8 == 0);

}  // namespace fovea
