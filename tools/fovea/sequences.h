// The geometry of a valid call as the tool needs it: which rows belong to which sequence, and how many (query, key)
// pairs lengths, causal and window leave visible. The content of mask and bias is not looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::cli {

struct SequenceRows {
  std::int64_t batch = 0;  // index in dimension B of q, 0 when packed
  std::int64_t begin = 0;  // first row of the sequence
  std::int64_t rows = 0;   // rows of storage
  std::int64_t used = 0;   // rows that are queries
  std::int64_t kv_used = 0;
  std::int64_t diagonal = 0;  // query i stands at key i + diagonal
};

std::vector<SequenceRows> sequences(const fovea_forward_args& args);

// Visible pairs of one query head, over the batch.
std::int64_t visible_pairs(const fovea_forward_args& args);

// 2 * pairs * num_heads_q * (head_dim_qk + head_dim_v): two flops per multiply-add of Q K^T and P V.
double forward_flops(const fovea_forward_args& args);

}  // namespace fovea::cli
