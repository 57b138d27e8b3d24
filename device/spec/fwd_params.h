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

// Stands for "no bound" in position rules; lengths are below it, and sums of two fit 32 bits.
inline constexpr i32 kFarKeys = 1 << 29;

struct FwdParams {
  RowTensor q, k, v, out;
  f32* lse;  // element (b, h, s); null: not wanted
  i64 lse_b, lse_h, lse_s;
  const f32* sink;  // [Hq]; null: none
  i64 sink_stride;
  const i32* used_q;   // [B], rows of a batch entry that are queries; null: all
  const i32* used_kv;  // [B], likewise keys. Values outside the storage are taken as its nearest bound
  i64 used_q_stride, used_kv_stride;

  i32 batch, num_heads_q, group;  // group = num_heads_q / num_heads_kv
  i32 seqlen_q, seqlen_kv;
  i32 tiles_m;          // ceil(seqlen_q / tile_m)
  i32 heads_in_flight;  // (batch, head) pairs whose K and V share the level-2 cache; see attention/schedule.h
  // Query i sees key j iff i + diagonal + left <= j <= i + diagonal + right, where diagonal is used_kv - used_q
  // (bottom-right alignment) if bottom_right is 1, else 0. Within +-kFarKeys.
  i32 left, right;
  i32 bottom_right;

  f32 scale_log2;    // softmax_scale * log2(e)
  f32 softcap_log2;  // softcap * log2(e); 0 = off; general form only
  f32 softcap_in;    // 2 * log2(e) * softmax_scale / softcap: what the product is multiplied by inside tanh
};

static_assert(sizeof(FwdParams) % 8 == 0);

}  // namespace fovea
