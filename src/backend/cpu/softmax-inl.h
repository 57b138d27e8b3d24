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

inline constexpr float kRescaleSlack = 5.0F;     // natural units
inline constexpr float kLargestWeight = 148.4F;  // e^kRescaleSlack

// |m| up to which m*log2(e) is rounded once for the whole row: every weight is off by the same factor, which cancels in
// out and puts |m|*2^-24 into lse. Far below the lse tolerance of the dtype (contract section 5).
template <Exp kExp>
inline constexpr float kFusedLimit = kExp == Exp::precise ? 64.0F : 4096.0F;

HWY_INLINE VF minus_infinity() { return hn::Set(DF(), kMinusInfinity); }

// What stands between q.k and the softmax for the rows of one call.
struct ScoreRule {
  float scale;    // >= 0; the sign of softmax_scale went into q
  float softcap;  // 0 = none
};

// Scores of one row for keys [begin, end) of a block; s[0] belongs to key `begin`. Both are multiples of two vectors.
struct ScoreSpan {
  float* s;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count() const { return end - begin; }
};

// The bias of one row of a block, from the block's first key on.
enum class BiasForm { none, f32, bf16 };
struct BiasRow {
  BiasForm form = BiasForm::none;
  const std::byte* data = nullptr;
  const std::byte* later = nullptr;  // where a row that follows soon lies: asked for on the way, line by line
};

template <BiasForm kForm>
HWY_INLINE VF load_bias(const BiasRow& bias, std::int64_t n) {
  if constexpr (kForm == BiasForm::bf16) return load_bf16(bias.data + 2 * n);
  return hn::LoadU(DF(), reinterpret_cast<const float*>(bias.data) + n);
}

// Two vectors of the later row, into the level-1 cache.
template <BiasForm kForm>
HWY_INLINE void prefetch_bias(const BiasRow& bias, std::int64_t n) {
  constexpr std::int64_t kElement = kForm == BiasForm::f32 ? 4 : 2;
  prefetch_row<3>(bias.later + n * kElement, 2 * lanes() * kElement);
}

// s = softcap(scale*s) + bias in place; hidden keys become -inf, by `bits` (null: all visible; from the block's first
// key on) or by a bias of -inf. Returns a vector with the largest s in some lane.
template <bool kCap, BiasForm kForm>
HWY_INLINE VF finish_scores(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias,
                            const std::uint64_t* bits) {
  const DF d;
  const VF scale = hn::Set(d, kCap ? rule.scale / rule.softcap : rule.scale);
  const VF cap = hn::Set(d, rule.softcap);
  VF top = minus_infinity();
  for (std::int64_t n = span.begin; n < span.end; n += lanes()) {
    float* s = span.s + (n - span.begin);
    VF x = hn::Mul(hn::LoadU(d, s), scale);
    if constexpr (kCap) x = hn::Mul(cap, tanh(x));
    if constexpr (kForm != BiasForm::none) {
      const VF b = load_bias<kForm>(bias, n);
      x = hn::IfThenElse(hn::Eq(b, minus_infinity()), b, hn::Add(x, b));
    }
    if (bits != nullptr) {
      const std::uint64_t word = bits[n / 64] >> (n % 64);
      std::uint8_t packed[8];
      std::memcpy(packed, &word, sizeof(word));
      x = hn::IfThenElse(hn::LoadMaskBits(d, packed), x, minus_infinity());
    }
    top = hn::Max(top, x);
    hn::StoreU(x, d, s);
  }
  return top;
}

template <bool kCap>
HWY_INLINE VF finish_scores(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias,
                            const std::uint64_t* bits) {
  if (bias.form == BiasForm::f32) return finish_scores<kCap, BiasForm::f32>(span, rule, bias, bits);
  if (bias.form == BiasForm::bf16) return finish_scores<kCap, BiasForm::bf16>(span, rule, bias, bits);
  return finish_scores<kCap, BiasForm::none>(span, rule, bias, bits);
}

HWY_INLINE VF finish_scores(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias,
                            const std::uint64_t* bits) {
  return rule.softcap != 0.0F ? finish_scores<true>(span, rule, bias, bits)
                              : finish_scores<false>(span, rule, bias, bits);
}

// Running state of one row. The output row is rescaled in place.
struct RowState {
  float* m;
  float* l;  // lanes() partial sums
  float* o;
  std::int64_t o_count;
};

struct Extremes {
  VF top;         // the largest scale*s + bias in some lane
  VF least_bias;  // the least bias in some lane; 0 when there is none
};

template <BiasForm kForm>
HWY_INLINE Extremes extremes(const ScoreSpan& span, float scale, const BiasRow& bias) {
  const DF d;
  const VF factor = hn::Set(d, scale);
  VF top[2] = {minus_infinity(), minus_infinity()};
  VF least[2] = {hn::Zero(d), hn::Zero(d)};
  for (std::int64_t i = 0; i < span.count(); i += 2 * lanes()) {
    for (int j = 0; j < 2; ++j) {
      const VF s = hn::LoadU(d, span.s + i + j * lanes());
      if constexpr (kForm == BiasForm::none) {
        top[j] = hn::Max(top[j], s);
      } else {
        const VF b = load_bias<kForm>(bias, span.begin + i + j * lanes());
        top[j] = hn::Max(top[j], hn::MulAdd(s, factor, b));
        least[j] = hn::Min(least[j], b);
      }
    }
  }
  const VF largest = hn::Max(top[0], top[1]);
  return {kForm == BiasForm::none ? hn::Mul(largest, factor) : largest, hn::Min(least[0], least[1])};
}

// Raises the stabiliser when a score passes it by the slack. `top` holds the largest new score in some lane.
HWY_INLINE void raise_max(VF top, const RowState& row) {
  const DF d;
  if (hn::AllFalse(d, hn::Gt(top, hn::Set(d, *row.m + kRescaleSlack)))) return;
  const float raised = hn::GetLane(hn::MaxOfLanes(d, top));
  const float alpha = *row.m == kMinusInfinity ? 0.0F : std::exp(*row.m - raised);
  *row.m = raised;
  const VF factor = hn::Set(d, alpha);
  hn::StoreU(hn::Mul(hn::LoadU(d, row.l), factor), d, row.l);
  for (std::int64_t i = 0; i < row.o_count; i += lanes()) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row.o + i), factor), d, row.o + i);
  }
}

// Hands each pair of weight vectors to store(w0, w1, i), keys span.begin + i on, which may write over the scores that
// were read for it. weight = 2^((s - m)*log2 e) of finished scores of any size.
template <Exp kExp, class Store>
HWY_INLINE void weigh_finished(const ScoreSpan& span, const RowState& row, const Store& store) {
  const DF d;
  const VF log2e = hn::Set(d, kLog2e);
  const VF shift = hn::Set(d, *row.m == kMinusInfinity ? 0.0F : *row.m);
  const auto weight = [&](std::int64_t i) {
    return exp2<kExp>(hn::Mul(hn::Sub(hn::LoadU(d, span.s + i), shift), log2e));
  };
  VF sum0 = hn::LoadU(d, row.l);
  VF sum1 = hn::Zero(d);
  for (std::int64_t i = 0; i < span.count(); i += 2 * lanes()) {
    const VF w0 = weight(i);
    const VF w1 = weight(i + lanes());
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    store(w0, w1, i);
  }
  hn::StoreU(hn::Add(sum0, sum1), d, row.l);
}

// The same from scores as the product left them: s*c + (bias*log2 e - m*log2 e), fused. On trial it returns false, and
// leaves the sum alone, when a lane's weights exceed what one weight may reach or are NaN: a score may have passed m by
// the slack, or met a bias of -inf when it was Inf or NaN.
template <Exp kExp, BiasForm kForm, bool kTrial, class Store>
HWY_INLINE bool weigh_open(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias, const RowState& row,
                           const Store& store) {
  const DF d;
  const VF log2e = hn::Set(d, kLog2e);
  const VF factor = hn::Set(d, rule.scale * kLog2e);
  const VF shift = hn::Set(d, *row.m == kMinusInfinity ? 0.0F : *row.m * kLog2e);
  const auto weight = [&](std::int64_t i) {
    const VF s = hn::LoadU(d, span.s + i);
    if constexpr (kForm == BiasForm::none) return exp2<kExp>(hn::MulSub(s, factor, shift));
    return exp2<kExp>(hn::MulAdd(s, factor, hn::MulSub(load_bias<kForm>(bias, span.begin + i), log2e, shift)));
  };
  VF sum0 = hn::Zero(d);
  VF sum1 = hn::Zero(d);
  for (std::int64_t i = 0; i < span.count(); i += 2 * lanes()) {
    if constexpr (kForm != BiasForm::none) prefetch_bias<kForm>(bias, span.begin + i);
    const VF w0 = weight(i);
    const VF w1 = weight(i + lanes());
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    store(w0, w1, i);
  }
  sum0 = hn::Add(sum0, sum1);
  if (kTrial && !hn::AllTrue(d, hn::Le(sum0, hn::Set(d, kLargestWeight)))) return false;
  hn::StoreU(hn::Add(hn::LoadU(d, row.l), sum0), d, row.l);
  return true;
}

// One row of a block whose scores go through finish_scores(). Not fused: the largest score then weighs exactly 1, and a
// row with one visible key is exact.
template <Exp kExp, class Store>
HWY_INLINE void softmax_finished_row(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias,
                                     const std::uint64_t* bits, const RowState& row, const Store& store) {
  raise_max(finish_scores(span, rule, bias, bits), row);
  weigh_finished<kExp>(span, row, store);
}

template <Exp kExp>
HWY_INLINE bool may_fuse(const RowState& row) {
  return std::abs(*row.m) <= kFusedLimit<kExp>;
}

// One row of a block of which every key is visible, without softcap. A bias of -inf hides keys whatever their scores
// are, and that is finish_scores()'s work. Where weights do not replace scores (kKept) the row is first weighed with
// the maximum that it has: after the first block that is mostly good enough, and scores and bias are read once.
template <Exp kExp, bool kKept, BiasForm kForm, class Store>
HWY_INLINE void softmax_open_row(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias, const RowState& row,
                                 const Store& store) {
  if constexpr (kKept) {
    if (may_fuse<kExp>(row) && weigh_open<kExp, kForm, true>(span, rule, bias, row, store)) return;
  }
  const Extremes found = extremes<kForm>(span, rule.scale, bias);
  if (!hn::AllFalse(DF(), hn::Eq(found.least_bias, minus_infinity()))) {
    return softmax_finished_row<kExp>(span, rule, bias, nullptr, row, store);
  }
  raise_max(found.top, row);
  if (may_fuse<kExp>(row)) {
    weigh_open<kExp, kForm, false>(span, rule, bias, row, store);
  } else {
    finish_scores(span, rule, bias, nullptr);
    weigh_finished<kExp>(span, row, store);
  }
}

template <Exp kExp, bool kKept, class Store>
HWY_INLINE void softmax_open_row(const ScoreSpan& span, const ScoreRule& rule, const BiasRow& bias, const RowState& row,
                                 const Store& store) {
  if (bias.form == BiasForm::f32) return softmax_open_row<kExp, kKept, BiasForm::f32>(span, rule, bias, row, store);
  if (bias.form == BiasForm::bf16) return softmax_open_row<kExp, kKept, BiasForm::bf16>(span, rule, bias, row, store);
  softmax_open_row<kExp, kKept, BiasForm::none>(span, rule, bias, row, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
