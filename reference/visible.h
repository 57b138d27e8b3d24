// visible(): section 2 of the contract, condition by condition. The only place here that knows a mask of any kind.
#pragma once

#include <cstdint>
#include <limits>

#include "reference/sequence.h"

namespace fovea::reference {

// Whether key j is visible to query i of head h in this sequence.
inline bool visible(const fovea_forward_args& a, const Sequence& seq, std::int64_t h, std::int64_t i, std::int64_t j) {
  if (i >= seq.seqlen_q || j >= seq.seqlen_kv) return false;
  const std::int64_t ahead = j - (i + seq.diagonal);  // how far the key lies to the right of the diagonal
  if ((a.flags & FOVEA_FLAG_CAUSAL) != 0 && ahead > 0) return false;
  if ((a.flags & FOVEA_FLAG_WINDOW_LEFT) != 0 && -ahead > a.window_left) return false;
  if ((a.flags & FOVEA_FLAG_WINDOW_RIGHT) != 0 && ahead > a.window_right) return false;
  if (present(a.mask) && load(a.mask, score_operand_at(a, a.mask, seq.b, h, i, j)) == 0) return false;
  if (present(a.bias)) {
    const double bias = load(a.bias, score_operand_at(a, a.bias, seq.b, h, i, j));
    if (bias == -std::numeric_limits<double>::infinity()) return false;
  }
  return true;
}

}  // namespace fovea::reference
