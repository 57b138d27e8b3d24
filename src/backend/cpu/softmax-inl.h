// Online softmax of one score row (contract section 3): scores in, unnormalised weights out, running maximum and sum.
// The maximum m is a stabiliser, raised only when a score passes it by kRescaleSlack: weights may reach e^5, the output
// is rescaled rarely, and since every row decides for itself its bits do not depend on its neighbours.
#if defined(FOVEA_CPU_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_SOFTMAX_INL_H_
#undef FOVEA_CPU_SOFTMAX_INL_H_
#else
#define FOVEA_CPU_SOFTMAX_INL_H_
#endif

#include <cmath>

#include "backend/cpu/exp-inl.h"
#include "backend/cpu/visibility-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

inline constexpr float kRescaleSlack = 5.0F;   // natural units

// |m| up to which m*log2(e) is rounded once for the whole row: every weight is off by the same factor, which cancels in
// out and puts |m|*2^-24 into lse. Far below the lse tolerance of the dtype (contract section 5).
template <Exp kExp>
inline constexpr float kFusedLimit = kExp == Exp::precise ? 64.0F : 4096.0F;

HWY_INLINE VF minus_infinity() { return hn::Set(DF(), -std::numeric_limits<float>::infinity()); }

// What stands between q.k and the softmax for the rows of one call.
struct ScoreRule {
  float scale;    // >= 0; the sign of softmax_scale went into q
  float softcap;  // 0 = none
  bool has_bias;
  bool plain() const { return softcap == 0.0F && !has_bias; }
};

// s = softcap(scale*s) + bias in place over keys [begin, end); hidden keys become -inf. `bits` null: all visible.
template <bool kCap, bool kBias>
HWY_INLINE void finish_scores(float* HWY_RESTRICT s, const ScoreRule& rule, const float* bias, const std::uint64_t* bits,
                              std::int64_t begin, std::int64_t end) {
  const DF d;
  const VF scale = hn::Set(d, kCap ? rule.scale / rule.softcap : rule.scale);
  const VF cap = hn::Set(d, rule.softcap);
  for (std::int64_t n = begin; n < end; n += lanes()) {
    VF x = hn::Mul(hn::LoadU(d, s + n), scale);
    if constexpr (kCap) x = hn::Mul(cap, tanh(x));
    if constexpr (kBias) x = hn::Add(x, hn::LoadU(d, bias + n));
    if (bits != nullptr) {
      const std::uint64_t word = bits[n / 64] >> (n % 64);
      std::uint8_t packed[8];
      std::memcpy(packed, &word, sizeof(word));
      x = hn::IfThenElse(hn::LoadMaskBits(d, packed), x, minus_infinity());
    }
    hn::StoreU(x, d, s + n);
  }
}

HWY_INLINE void finish_scores(float* s, const ScoreRule& rule, const float* bias, const std::uint64_t* bits,
                              std::int64_t begin, std::int64_t end) {
  if (rule.softcap != 0.0F) {
    return rule.has_bias ? finish_scores<true, true>(s, rule, bias, bits, begin, end)
                         : finish_scores<true, false>(s, rule, bias, bits, begin, end);
  }
  return rule.has_bias ? finish_scores<false, true>(s, rule, bias, bits, begin, end)
                       : finish_scores<false, false>(s, rule, bias, bits, begin, end);
}

// Running state of one row. The output row is rescaled in place.
struct RowState {
  float* m;
  float* l;  // lanes() partial sums
  float* o;
  std::int64_t o_count;
};

HWY_INLINE VF row_max(const float* HWY_RESTRICT s, std::int64_t begin, std::int64_t end) {
  const DF d;
  VF x = minus_infinity();
  VF y = minus_infinity();
  for (std::int64_t n = begin; n < end; n += 2 * lanes()) {
    x = hn::Max(x, hn::LoadU(d, s + n));
    y = hn::Max(y, hn::LoadU(d, s + n + lanes()));
  }
  return hn::Max(x, y);
}

// Raises the stabiliser when a score passes it by the slack. `top` holds the block's maximum in some lane.
HWY_INLINE void raise_max(VF top, RowState& row) {
  const DF d;
  if (hn::AllFalse(d, hn::Gt(top, hn::Set(d, *row.m + kRescaleSlack)))) return;
  const float raised = hn::GetLane(hn::MaxOfLanes(d, top));
  const float alpha = *row.m == -std::numeric_limits<float>::infinity() ? 0.0F : std::exp(*row.m - raised);
  *row.m = raised;
  const VF factor = hn::Set(d, alpha);
  hn::StoreU(hn::Mul(hn::LoadU(d, row.l), factor), d, row.l);
  for (std::int64_t i = 0; i < row.o_count; i += lanes()) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row.o + i), factor), d, row.o + i);
  }
}

// Hands each pair of weight vectors to store(w0, w1, n), which may write over the scores that were read for it.
// weight = 2^((s*scale - m)*log2 e). Fused: s*c - m*c in one rounding; otherwise s holds finished scores of any size.
template <Exp kExp, bool kFused, class Store>
HWY_INLINE void weigh(const float* s, float scale, RowState& row, std::int64_t begin, std::int64_t end,
                      const Store& store) {
  const DF d;
  const float m = *row.m == -std::numeric_limits<float>::infinity() ? 0.0F : *row.m;
  const VF factor = hn::Set(d, kFused ? scale * kLog2e : kLog2e);
  const VF shift = hn::Set(d, kFused ? m * kLog2e : m);
  const auto weight = [&](VF x) {
    if constexpr (kFused) return exp2<kExp>(hn::MulSub(x, factor, shift));
    return exp2<kExp>(hn::Mul(hn::Sub(x, shift), factor));
  };
  VF sum0 = hn::LoadU(d, row.l);
  VF sum1 = hn::Zero(d);
  for (std::int64_t n = begin; n < end; n += 2 * lanes()) {
    const VF w0 = weight(hn::LoadU(d, s + n));
    const VF w1 = weight(hn::LoadU(d, s + n + lanes()));
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    store(w0, w1, n);
  }
  hn::StoreU(hn::Add(sum0, sum1), d, row.l);
}

// One row over keys [begin, end), multiples of two vectors. finished: s went through finish_scores().
template <Exp kExp, class Store>
HWY_INLINE void softmax_row(float* s, const ScoreRule& rule, bool finished, RowState row, std::int64_t begin,
                            std::int64_t end, const Store& store) {
  const DF d;
  VF top = row_max(s, begin, end);
  if (!finished) top = hn::Mul(top, hn::Set(d, rule.scale));
  raise_max(top, row);
  if (!finished && std::abs(*row.m) <= kFusedLimit<kExp>) {
    return weigh<kExp, true>(s, rule.scale, row, begin, end, store);
  }
  if (!finished) finish_scores(s, rule, nullptr, nullptr, begin, end);
  weigh<kExp, false>(s, 1.0F, row, begin, end, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
