// exp2 and tanh on vectors. Polynomials: least-maximum fits of 2^r on [0, 1) with constant term exactly 1.
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

// Largest relative error in fp32: 1.7e-7 precise (weights kept in fp32), 8.6e-5 fast (weights rounded to bf16: 2e-3).
enum class Exp { precise, fast };

template <Exp kExp>
HWY_INLINE VF exp2_fraction(VF r) {
  const DF d;
  if constexpr (kExp == Exp::precise) {
    VF p = hn::Set(d, 0.0018671300495043397F);
    p = hn::MulAdd(p, r, hn::Set(d, 0.009017030708491802F));
    p = hn::MulAdd(p, r, hn::Set(d, 0.05579991266131401F));
    p = hn::MulAdd(p, r, hn::Set(d, 0.24016444385051727F));
    p = hn::MulAdd(p, r, hn::Set(d, 0.6931512951850891F));
    return hn::MulAdd(p, r, hn::Set(d, 1.0F));
  } else {
    VF p = hn::Set(d, 0.07706703990697861F);
    p = hn::MulAdd(p, r, hn::Set(d, 0.22764499485492706F));
    p = hn::MulAdd(p, r, hn::Set(d, 0.6951167583465576F));
    return hn::MulAdd(p, r, hn::Set(d, 1.0F));
  }
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
  const hn::RebindToSigned<DF> di;
  const VF floor = hn::Floor(t);
  const VF p = exp2_fraction<kExp>(hn::Sub(t, floor));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, floor), hn::Set(di, 127)));
  const VF scaled = hn::Mul(p, hn::BitCast(d, exponent));
  return hn::IfThenElse(hn::Lt(t, hn::Set(d, -126.0F)), hn::Zero(d), scaled);
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
