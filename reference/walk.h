// walk(): visits every output row of a call with its head's keys and values at hand, converted once per (b, kv head).
// What is computed for a row is the caller's business.
#pragma once

#include <cmath>
#include <cstdint>
#include <new>
#include <numeric>
#include <vector>

#include "reference/refusal.h"
#include "reference/sequence.h"

namespace fovea::reference {

// The used keys and values of one (b, kv head): row j of k starts at k[j * head_dim_qk].
template <class Real>
struct Keys {
  std::vector<Real> k, v;
  std::int64_t head_dim_qk = 0, head_dim_v = 0;
};

template <class Real>
std::vector<Real> load_row(const fovea_tensor& t, std::int64_t offset) {
  std::vector<Real> row(static_cast<std::size_t>(head_dim(t)));
  for (std::size_t d = 0; d < row.size(); ++d)
    row[d] = static_cast<Real>(load(t, offset + static_cast<std::int64_t>(d) * t.strides[t.rank - 1]));
  return row;
}

template <class Real>
Keys<Real> load_keys(const fovea_forward_args& a, const Sequence& seq, std::int64_t hkv) {
  Keys<Real> keys;
  keys.head_dim_qk = head_dim(a.k);
  keys.head_dim_v = head_dim(a.v);
  for (std::int64_t j = 0; j < seq.seqlen_kv; ++j) {
    const std::vector<Real> k = load_row<Real>(a.k, key_at(a, a.k, seq.b, j, hkv));
    const std::vector<Real> v = load_row<Real>(a.v, key_at(a, a.v, seq.b, j, hkv));
    keys.k.insert(keys.k.end(), k.begin(), k.end());
    keys.v.insert(keys.v.end(), v.begin(), v.end());
  }
  return keys;
}

// x . y, in eight partial sums: one long chain of additions would wait for each.
template <class Real>
Real dot(const Real* x, const Real* y, std::int64_t n) {
  Real sums[8] = {};
  std::int64_t d = 0;
  for (; d + 8 <= n; d += 8)
    for (std::int64_t c = 0; c < 8; ++c) sums[c] += x[d + c] * y[d + c];
  for (; d < n; ++d) sums[0] += x[d] * y[d];
  return std::accumulate(sums, sums + 8, Real{0});
}

// What the sink leaves of a row: 1 / (1 + exp(sink - lse)).
inline double sink_factor(const fovea_tensor& sink, std::int64_t h, double lse) {
  return present(sink) ? 1 / (1 + std::exp(load(sink, h * sink.strides[0]) - lse)) : 1;
}

// Writes row i of head h: out, and lse when asked for.
template <class Real>
void store_row(const fovea_forward_args& a, const Sequence& seq, std::int64_t h, std::int64_t i,
               const std::vector<Real>& out, Real lse) {
  const std::int64_t begin = row_at(a.out, a.cu_seqlens_q, seq.b, i, h);
  for (std::size_t d = 0; d < out.size(); ++d)
    store(a.out, begin + static_cast<std::int64_t>(d) * a.out.strides[a.out.rank - 1], static_cast<double>(out[d]));
  if (present(a.lse)) store(a.lse, lse_at(a.lse, a.cu_seqlens_q, seq.b, i, h), static_cast<double>(lse));
}

// Calls row(seq, keys, h, i) for each row that the filter lets through.
template <class Real, class Row>
fovea_status walk(const fovea_forward_args* args, RowFilter filter, Row row, fovea_error* error) try {
  const Refusal refusal = check_forward(args, filter);
  if (refusal.status != FOVEA_OK) return report(refusal, error);
  const fovea_forward_args& a = *args;
  const std::int64_t group = heads_per_kv_head(a);
  for (std::int64_t b = 0; b < batch(a); ++b) {
    const Sequence seq = sequence(a, b);
    for (std::int64_t hkv = 0; hkv < num_heads_kv(a); ++hkv) {
      const Keys<Real> keys = load_keys<Real>(a, seq, hkv);
      for (std::int64_t h = hkv * group; h < (hkv + 1) * group; ++h)
        for (std::int64_t i = filter.phase; i < seq.q_rows; i += filter.stride) row(seq, keys, h, i);
    }
  }
  return FOVEA_OK;
} catch (const std::bad_alloc&) {
  return report({FOVEA_OUT_OF_MEMORY, "out_of_memory", "buffers for one head", "what fits in memory"}, error);
}

}  // namespace fovea::reference
