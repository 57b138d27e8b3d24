// The contract, executable: sections 2 and 3, one function per formula, in fp64.
// Which rows there are and where they lie is walk.h's and sequence.h's; visibility is visible.h's.
#include "reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/visible.h"
#include "reference/walk.h"

namespace fovea::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// s = softmax_scale * (q . k);  s = softcap * tanh(s / softcap);  s = s + bias
double score(const fovea_forward_args& a, const Sequence& seq, std::int64_t h, std::int64_t i, std::int64_t j,
             const double* q, const double* k) {
  const std::int64_t head_dim_qk = head_dim(a.q);
  const bool scale_given = (a.flags & FOVEA_FLAG_SOFTMAX_SCALE) != 0;
  const double scale =
      scale_given ? static_cast<double>(a.softmax_scale) : 1 / std::sqrt(static_cast<double>(head_dim_qk));
  const double softcap = static_cast<double>(a.softcap);
  double s = scale * dot(q, k, head_dim_qk);
  if (softcap > 0) s = softcap * std::tanh(s / softcap);
  if (present(a.bias)) s += load(a.bias, score_operand_at(a, a.bias, seq.b, h, i, j));
  return s;
}

// Softmax over a row of scores; -inf stands for "no weight at all".
struct Softmax {
  double m = -kInfinity;  // max of the scores
  double l = 0;           // sum of exp(s - m); 0 exactly when the row is empty
  double lse() const { return l == 0 ? -kInfinity : m + std::log(l); }
};

Softmax softmax(const std::vector<double>& scores) {
  Softmax r;
  for (const double s : scores) r.m = std::max(r.m, s);
  for (const double s : scores)
    if (s != -kInfinity) r.l += std::exp(s - r.m);  // NaN scores, and inf - inf, make l NaN
  return r;
}

// One row of out and lse.
void attend(const fovea_forward_args& a, const Sequence& seq, const Keys<double>& keys, std::int64_t h,
            std::int64_t i) {
  std::vector<double> out(static_cast<std::size_t>(keys.head_dim_v), 0.0);
  std::vector<double> scores(static_cast<std::size_t>(seq.seqlen_kv), -kInfinity);
  const std::vector<double> q = load_row<double>(a.q, row_at(a.q, a.cu_seqlens_q, seq.b, i, h));
  for (std::int64_t j = 0; j < seq.seqlen_kv; ++j)
    if (visible(a, seq, h, i, j))
      scores[static_cast<std::size_t>(j)] = score(a, seq, h, i, j, q.data(), keys.k.data() + j * keys.head_dim_qk);

  const Softmax row = softmax(scores);
  if (row.l == 0) return store_row(a, seq, h, i, out, -kInfinity);

  const double factor = sink_factor(a.sink, h, row.lse());
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] == -kInfinity) continue;
    const double p = std::exp(scores[j] - row.m) / row.l;
    const double* v = keys.v.data() + static_cast<std::int64_t>(j) * keys.head_dim_v;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += p * v[d];
  }
  for (double& x : out) x *= factor;
  store_row(a, seq, h, i, out, row.lse());
}

fovea_status forward(const fovea_forward_args* args, RowFilter filter, fovea_error* error) {
  const auto row = [args](const Sequence& seq, const Keys<double>& keys, std::int64_t h, std::int64_t i) {
    attend(*args, seq, keys, h, i);
  };
  return walk<double>(args, filter, row, error);
}

}  // namespace
}  // namespace fovea::reference

fovea_status fovea_reference_forward(const fovea_forward_args* args, fovea_error* error) {
  return fovea::reference::forward(args, {}, error);
}

fovea_status fovea_reference_forward_rows(const fovea_forward_args* args, int64_t row_stride, int64_t row_phase,
                                          fovea_error* error) {
  return fovea::reference::forward(args, {row_stride, row_phase}, error);
}
