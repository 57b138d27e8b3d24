// The plain same-precision evaluation: the formulas of section 3, unfused and in fp32, with P rounded to the input
// dtype as the product P V takes it. Every sum is one chain of fp32 additions in the order of its index.
#include "reference/plain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/visible.h"
#include "reference/walk.h"

namespace fovea::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A weight as the 16-bit dtype holds it; other dtypes keep fp32.
float stored(float p, std::int32_t dtype) {
  if (dtype != FOVEA_BF16 && dtype != FOVEA_F16) return p;
  const Format format = dtype == FOVEA_BF16 ? kBf16 : kF16;
  return static_cast<float>(decode(encode(static_cast<double>(p), format), format));
}

float chained_dot(const float* x, const float* y, std::int64_t n) {
  float sum = 0;
  for (std::int64_t d = 0; d < n; ++d) sum += x[d] * y[d];
  return sum;
}

float score(const fovea_forward_args& a, const Sequence& seq, std::int64_t h, std::int64_t i, std::int64_t j,
            const float* q, const float* k) {
  const std::int64_t head_dim_qk = head_dim(a.q);
  const bool scale_given = (a.flags & FOVEA_FLAG_SOFTMAX_SCALE) != 0;
  const float scale = scale_given ? a.softmax_scale : 1 / std::sqrt(static_cast<float>(head_dim_qk));
  float s = scale * chained_dot(q, k, head_dim_qk);
  if (a.softcap > 0) s = a.softcap * std::tanh(s / a.softcap);
  if (!present(a.bias)) return s;
  return s + static_cast<float>(load(a.bias, score_operand_at(a, a.bias, seq.b, h, i, j)));
}

void attend(const fovea_forward_args& a, const Sequence& seq, const Keys<float>& keys, std::int64_t h, std::int64_t i) {
  std::vector<float> out(static_cast<std::size_t>(keys.head_dim_v), 0.0F);
  std::vector<float> scores(static_cast<std::size_t>(seq.seqlen_kv), -kInfinity);
  const std::vector<float> q = load_row<float>(a.q, row_at(a.q, a.cu_seqlens_q, seq.b, i, h));
  float m = -kInfinity;
  float l = 0;
  for (std::int64_t j = 0; j < seq.seqlen_kv; ++j) {
    if (!visible(a, seq, h, i, j)) continue;
    float& s = scores[static_cast<std::size_t>(j)];
    s = score(a, seq, h, i, j, q.data(), keys.k.data() + j * keys.head_dim_qk);
    m = std::max(m, s);
  }
  for (const float s : scores)
    if (s != -kInfinity) l += std::exp(s - m);
  if (l == 0) return store_row(a, seq, h, i, out, -kInfinity);

  const float lse = m + std::log(l);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] == -kInfinity) continue;
    const float p = stored(std::exp(scores[j] - m) / l, a.q.dtype);
    const float* v = keys.v.data() + static_cast<std::int64_t>(j) * keys.head_dim_v;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += p * v[d];
  }
  if (present(a.sink)) {
    const float sink = static_cast<float>(load(a.sink, h * a.sink.strides[0]));
    for (float& x : out) x *= 1 / (1 + std::exp(sink - lse));
  }
  store_row(a, seq, h, i, out, lse);
}

}  // namespace
}  // namespace fovea::reference

fovea_status fovea_plain_forward(const fovea_forward_args* args, fovea_error* error) {
  return fovea_plain_forward_rows(args, 1, 0, error);
}

fovea_status fovea_plain_forward_rows(const fovea_forward_args* args, int64_t row_stride, int64_t row_phase,
                                      fovea_error* error) {
  namespace ref = fovea::reference;
  const auto row = [args](const ref::Sequence& seq, const ref::Keys<float>& keys, std::int64_t h, std::int64_t i) {
    ref::attend(*args, seq, keys, h, i);
  };
  return ref::walk<float>(args, {row_stride, row_phase}, row, error);
}
