// The plain same-precision evaluation: the formulas of section 3 as unfused code in the input dtype would compute them.
// Each tensor that such code stores (scores after each step, P) is rounded to the dtype of q; sums are fp32.
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

// x as a stored tensor of the 16-bit dtype holds it; other dtypes keep fp32. A finite score that only the narrow range
// of fp16 would turn into infinity stays finite: the yardstick measures rounding, not overflow.
float stored(float x, std::int32_t dtype) {
  if (dtype != FOVEA_BF16 && dtype != FOVEA_F16) return x;
  const Format format = dtype == FOVEA_BF16 ? kBf16 : kF16;
  const float rounded = static_cast<float>(decode(encode(static_cast<double>(x), format), format));
  return std::isinf(rounded) ? x : rounded;
}

float score(const fovea_forward_args& a, const Sequence& seq, std::int64_t h, std::int64_t i, std::int64_t j,
            const float* q, const float* k) {
  const std::int64_t head_dim_qk = head_dim(a.q);
  const bool scale_given = (a.flags & FOVEA_FLAG_SOFTMAX_SCALE) != 0;
  const float scale = scale_given ? a.softmax_scale : 1 / std::sqrt(static_cast<float>(head_dim_qk));
  float s = stored(scale * dot(q, k, head_dim_qk), a.q.dtype);
  if (a.softcap > 0) {
    const float t = stored(std::tanh(stored(s / a.softcap, a.q.dtype)), a.q.dtype);
    s = stored(a.softcap * t, a.q.dtype);
  }
  if (!present(a.bias)) return s;
  const float bias = static_cast<float>(load(a.bias, score_operand_at(a, a.bias, seq.b, h, i, j)));
  return stored(s + bias, a.q.dtype);
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
