// FwdParams: what a forward kernel is launched with. Pointers, 64-bit strides in elements, and the geometry of the
// call; everything that would change the code is in FwdSpec instead. One layout for host and device: fixed-width
// members only.
#pragma once

#include "base/divisor.h"
#include "spec/fwd_spec.h"
#include "spec/view_reads.h"

namespace fovea {

// q, k, v or out: element (b, s, h, d) lies at data + b*stride_b + s*stride_s + h*stride_h + d.
struct RowTensor {
  void* data;
  i64 stride_b, stride_s, stride_h;
};

// mask or bias: element (b, hq, i, j) lies at data + b*stride_b + (hq / head_group)*stride_h + i*stride_q + j*stride_k,
// in elements; an extent that is broadcast has stride 0.
struct ScoreTensor {
  const void* data;  // null: none
  i64 stride_b, stride_h, stride_q, stride_k;
  i32 head_group;
  i32 rows, keys;  // extents, past which nothing is read: rows there take the last one, keys in vector views the last
                   // ones, keys in others are hidden (mask) or without bias; in fwd_wgmma both are without bias
  ViewReads reads;
};

// Stands for "no bound" in position rules; lengths are below it, and sums of two fit 32 bits.
inline constexpr i32 kFarKeys = 1 << 29;

struct FwdParams {
  RowTensor q, k, v, out;  // paged k and v: b is the page, s the slot in it. varlen: stride_b is not used
  f32* lse;                // element (b, h, s); null: not wanted
  i64 lse_b, lse_h, lse_s;
  const f32* sink;  // [Hq]; null: none
  i64 sink_stride;
  const i32* used_q;   // [B], rows of a batch entry that are queries; null: all
  const i32* used_kv;  // [B], likewise keys. Values outside the storage are taken as its nearest bound
  i64 used_q_stride, used_kv_stride;
  const i32* cu_q;   // [B+1], first rows of the sequences in packed q, out and lse; null: [B, S] storage
  const i32* cu_kv;  // [B+1], likewise in packed k and v
  i64 cu_q_stride, cu_kv_stride;
  const i32* page_table;  // entry (b, p) at b*page_b + p*page_p; null: k and v are not paged
  i64 page_b, page_p;
  ScoreTensor mask;  // of bytes; 0 = hidden. ScoreForm::masked, masked_biased, and biased of fwd_mma
  ScoreTensor bias;  // of bias_element; ScoreForm::biased, masked_biased
  // Split s of the keys writes its out and lse this many elements further on. Where there are several, lse takes two
  // numbers per row, the maximum of its scores and the sum of the weights: a maximum of -1e30 leaves no
  // digits for the logarithm of a sum.
  i64 out_split = 0, lse_split = 0;

  i32 batch, num_heads_q, group;  // group = num_heads_q / num_heads_kv
  i32 seqlen_q, seqlen_kv;        // rows of storage of a batch entry; varlen: of all sequences together
  i32 head_dim_qk, head_dim_v;
  i32 tiles_m;          // tiles of one head and batch entry; varlen: of one head, at least one per sequence
  i32 heads_in_flight;  // (batch, head) pairs of a group; see attention/schedule.h
  i32 head_groups;      // of so many heads; the last has all that are left
  i32 num_splits;       // parts of the key range, each a CTA of its own
  i32 split_keys;  // keys per split, a multiple of tile_n; 0: the used keys of each sequence in equal parts. The last
                   // split takes what is left
  i32 num_pages, page_size;
  i32 out_f32;    // 1: out is fp32, as that of splits always is; 0: of q's dtype. fwd_mma alone
  i32 align_qkv;  // bytes, 2 to 16: every row of q, k and v starts at a multiple. Loads::any only
  i32 align_out;  // likewise of out
  Element bias_element;
  // Query i sees key j iff i + diagonal + left <= j <= i + diagonal + right, where diagonal is used_kv - used_q
  // (bottom-right alignment) if bottom_right is 1, else 0. Within +-kFarKeys.
  i32 left, right;
  i32 bottom_right;

  f32 scale;       // softmax_scale, or what query_scale leaves of it
  f32 scale_log2;  // scale * log2(e)
  f32 softcap;     // 0 = off; only where the exponent does not take the scale
  f32 softcap_in;  // 2 * log2(e) * softmax_scale / softcap: what the product is multiplied by inside tanh

  Divisor by_page, by_group;  // page_size, group
  i32 page_box;               // fwd_wgmma: keys of a page that TMA brings at a time
  // FwdSpec::begins_with_bias(): softmax_scale is query_scale * scale, and bias_scale 1 / scale. Queries of bf16 take
  // the power of two, which is exact and leaves scale = 1 at head dim 64; those of fp16 the sign. Otherwise both are 1.
  f32 query_scale = 1.0F, bias_scale = 1.0F;
  // 1: a head's tiles in all batch entries follow one another, instead of all heads of a batch entry. With views, for
  // one that has a plane for each head which all batch entries share; not with cu_q.
  i32 batches_first = 0;
};

static_assert(sizeof(FwdParams) % 8 == 0);

}  // namespace fovea
