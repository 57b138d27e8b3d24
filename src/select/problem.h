// Problem: one attention call as a value, without pointers. What supports(), the choice and the plan look at.
// Two calls with equal Problems get the same kernel and the same plan.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>

#include "device/spec/view_reads.h"
#include "fovea/fovea.h"

namespace fovea {

enum class QLayout : std::uint8_t { dense, varlen };
enum class KvLayout : std::uint8_t { dense, varlen, paged };
// Which index the head dimension of a mask or bias view follows.
enum class HeadMode : std::uint8_t { absent, broadcast, kv_head, q_head };

struct Problem {
  fovea_dtype dtype = FOVEA_F32;  // q, k, v
  fovea_dtype out_dtype = FOVEA_F32;
  fovea_dtype bias_dtype = FOVEA_F32;  // meaningful when bias != absent
  fovea_device_type device = FOVEA_DEVICE_CPU;
  QLayout q_layout = QLayout::dense;
  KvLayout kv_layout = KvLayout::dense;
  HeadMode mask = HeadMode::absent;
  HeadMode bias = HeadMode::absent;
  bool scores_per_batch = false;  // mask or bias has rows of its own for each batch entry
  bool causal = false;
  bool has_window_left = false;
  bool has_window_right = false;
  bool has_offset = false;  // q_offset or kv_offset given
  bool has_sink = false;
  bool has_lse = false;
  bool batch_invariant = false;
  bool forbid_slow = false;
  bool unit_stride_d = true;    // stride(D) == 1 for q, k, v
  bool forward_strides = true;  // strides of q, k, v and out are positive, those of bias not negative
  bool has_seqused = false;     // seqused_q or seqused_kv given
  ViewReads mask_reads = ViewReads::elements;
  ViewReads bias_reads = ViewReads::elements;
  std::int64_t batch = 0;
  std::int64_t num_heads_q = 0;
  std::int64_t num_heads_kv = 0;
  std::int64_t head_dim_qk = 0;
  std::int64_t head_dim_v = 0;
  std::int64_t seqlen_q = 0;   // dense: Sq; varlen: longest sequence (rows of storage)
  std::int64_t seqlen_kv = 0;  // longest used key length
  std::int64_t total_q = 0;    // query rows over the batch
  std::int64_t page_size = 0;  // 0 unless paged
  std::int64_t window_left = 0;
  std::int64_t window_right = 0;
  std::int64_t q_offset = 0;
  std::int64_t kv_offset = 0;
  std::int32_t requested_splits = 0;  // 0 = choose
  std::int32_t align_qkv = 16;        // bytes, a power of two up to 16: every row of q, k and v starts at a multiple
  std::int32_t align_out = 16;        // the same for out
  float softmax_scale = 1.0F;         // resolved
  float softcap = 0.0F;

  bool operator==(const Problem&) const = default;
};

// Query heads that share a kv head; 1 at least.
inline std::int64_t heads_per_group(const Problem& p) {
  return p.num_heads_kv > 0 ? std::max<std::int64_t>(p.num_heads_q / p.num_heads_kv, 1) : 1;
}

// Whether causal or window rules leave different parts of a sequence's keys to its queries.
inline bool uneven_keys(const Problem& p) { return p.causal || p.has_window_left || p.has_window_right; }

std::string to_string(const Problem& problem);
// FNV-1a over every field; equal Problems have equal digests.
std::uint64_t digest(const Problem& problem);

}  // namespace fovea
