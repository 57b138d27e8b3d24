// exp2 and tanh on vectors. Polynomials: least-maximum fits of 2^r with constant term exactly 1.
#if defined(FOVEA_CPU_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_EXP_INL_H_
#undef FOVEA_CPU_EXP_INL_H_
#else
#define FOVEA_CPU_EXP_INL_H_
#endif

#include "backend/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

inline constexpr float kLog2e = 1.44269504088896340736F;

// Largest relative error in fp32: 1.9e-7 precise (weights kept in fp32), 8.6e-5 fast (weights rounded to bf16: 2e-3).
enum class Exp { precise, fast };

// 2^r = 1 + r*(c[0] + r*(c[1] + ...)) for the r that exp2() splits off.
#if HWY_TARGET == HWY_AVX3  // [0, 1)
inline constexpr float kPrecise[] = {0.6931512951850891F, 0.24016444385051727F, 0.05579991266131401F,
                                     0.009017030708491802F, 0.0018671300495043397F};
#else  // [-1/2, 1/2]
inline constexpr float kPrecise[] = {0.6931470036506653F, 0.24022242426872253F, 0.05550733581185341F,
                                     0.009671512991189957F, 0.001326472731307149F};
#endif
inline constexpr float kFast[] = {0.6951167583465576F, 0.22764499485492706F, 0.07706703990697861F};  // [0, 1)

template <Exp kExp>
HWY_INLINE VF exp2_fraction(VF r) {
  const DF d;
  const VF one = hn::Set(d, 1.0F);
  if constexpr (kExp == Exp::precise) {  // by pairs: what waits for r is three products long, not five
    const auto pair = [&](int i) { return hn::MulAdd(r, hn::Set(d, kPrecise[i + 1]), hn::Set(d, kPrecise[i])); };
    const VF r2 = hn::Mul(r, r);
    return hn::MulAdd(r2, hn::MulAdd(r2, pair(3), pair(1)), hn::MulAdd(r, hn::Set(d, kPrecise[0]), one));
  } else {
    static_assert(HWY_TARGET == HWY_AVX3 || kExp == Exp::precise);
    VF p = hn::Set(d, kFast[2]);
    p = hn::MulAdd(p, r, hn::Set(d, kFast[1]));
    p = hn::MulAdd(p, r, hn::Set(d, kFast[0]));
    return hn::MulAdd(p, r, one);
  }
}

// The larger of both; NaN when x is.
HWY_INLINE VF max_or_nan(VF limit, VF x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#else
  return hn::Max(limit, x);  // with a NaN among them x86 takes the second, Arm NaN
#endif
}

// 2^t; results below 2^-126 may be 0, NaN stays NaN, -inf gives exactly 0. t <= 127.
template <Exp kExp>
HWY_INLINE VF exp2(VF t) {
#if HWY_TARGET == HWY_AVX3
  VF r;
  VF result;
  r.raw = _mm512_reduce_ps(t.raw, 0x09);  // t - floor(t); +0 for infinities
  result.raw = _mm512_scalef_ps(exp2_fraction<kExp>(r).raw, t.raw);
  return result;
#else
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const VF big = hn::Set(d, 12582912.0F + 127.0F);  // 3*2^22: a sum's last bits are round(t) + 127, an exponent
  const VF clamped = max_or_nan(hn::Set(d, -127.0F), t);
  const VF sum = hn::Add(clamped, big);
  const VF p = exp2_fraction<kExp>(hn::Sub(clamped, hn::Sub(sum, big)));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, sum))));
#endif
}

// tanh with about fp32 accuracy, relative near 0 too. NaN stays NaN.
HWY_INLINE VF tanh(VF x) {
  const DF d;
  const VF a = hn::Min(hn::Abs(x), hn::Set(d, 10.0F));  // tanh(10) rounds to 1
  const VF e = exp2<Exp::precise>(hn::Mul(a, hn::Set(d, 2.0F * kLog2e)));
  const VF large = hn::Sub(hn::Set(d, 1.0F), hn::Div(hn::Set(d, 2.0F), hn::Add(e, hn::Set(d, 1.0F))));
  // |x| < 0.35: Taylor series to x^11, remainder below 3e-8 of x.
  const VF z = hn::Mul(a, a);
  VF p = hn::Set(d, -1382.0F / 155925.0F);
  p = hn::MulAdd(p, z, hn::Set(d, 62.0F / 2835.0F));
  p = hn::MulAdd(p, z, hn::Set(d, -17.0F / 315.0F));
  p = hn::MulAdd(p, z, hn::Set(d, 2.0F / 15.0F));
  p = hn::MulAdd(p, z, hn::Set(d, -1.0F / 3.0F));
  const VF small = hn::MulAdd(hn::Mul(p, z), a, a);
  const VF magnitude = hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.35F)), small, large);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(magnitude, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
