// Scalar and packed arithmetic (PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions",
// "Integer Arithmetic Instructions", "Logic and Shift Instructions", "prmt"; SM80 except where noted).
#pragma once

#include "config.h"

namespace fovea::isa {

namespace detail {
FOVEA_INLINE f32 math(model::Math op, f32 a, f32 b = 0.0F, f32 c = 0.0F) {
  return f32_from_bits(model::this_thread().math(op, f32_bits(a), f32_bits(b), f32_bits(c), 0));
}
FOVEA_INLINE u32 math_bits(model::Math op, u32 a, u32 b = 0, u32 c = 0, u32 immediate = 0) {
  return model::this_thread().math(op, a, b, c, immediate);
}
}  // namespace detail

FOVEA_INLINE f32 ex2_approx_ftz(f32 x) { return detail::math(model::Math::ex2_approx_ftz, x); }
FOVEA_INLINE f32 ex2_approx(f32 x) { return detail::math(model::Math::ex2_approx, x); }
FOVEA_INLINE f32 lg2_approx_ftz(f32 x) { return detail::math(model::Math::lg2_approx_ftz, x); }
FOVEA_INLINE f32 rcp_approx_ftz(f32 x) { return detail::math(model::Math::rcp_approx_ftz, x); }
FOVEA_INLINE f32 tanh_approx(f32 x) { return detail::math(model::Math::tanh_approx, x); }
FOVEA_INLINE f32 fma_rn(f32 a, f32 b, f32 c) { return detail::math(model::Math::fma_rn, a, b, c); }
FOVEA_INLINE f32 max(f32 a, f32 b) { return detail::math(model::Math::max, a, b); }
FOVEA_INLINE f32 min(f32 a, f32 b) { return detail::math(model::Math::min, a, b); }
FOVEA_INLINE f32 max3(f32 a, f32 b, f32 c) { return max(max(a, b), c); }
FOVEA_INLINE f32 add_rn(f32 a, f32 b) { return detail::math(model::Math::add_rn, a, b); }
FOVEA_INLINE f32 mul_rn(f32 a, f32 b) { return detail::math(model::Math::mul_rn, a, b); }
FOVEA_INLINE f32 div_rn(f32 a, f32 b) { return detail::math(model::Math::div_rn, a, b); }

FOVEA_INLINE u32 umulhi(u32 a, u32 b) { return detail::math_bits(model::Math::umulhi, a, b); }
FOVEA_INLINE u32 prmt(u32 a, u32 b, u32 selector) { return detail::math_bits(model::Math::prmt, a, b, selector); }
FOVEA_INLINE u32 popc(u32 a) { return detail::math_bits(model::Math::popc, a); }
template <u32 kLut>
FOVEA_INLINE u32 lop3(u32 a, u32 b, u32 c) {
  static_assert(kLut < 256);
  return detail::math_bits(model::Math::lop3, a, b, c, kLut);
}

FOVEA_INLINE u32 fma_rn_bf16x2(u32 a, u32 b, u32 c) { return detail::math_bits(model::Math::fma_rn_bf16x2, a, b, c); }
FOVEA_INLINE u32 max_bf16x2(u32 a, u32 b) { return detail::math_bits(model::Math::max_bf16x2, a, b); }
FOVEA_INLINE u32 fma_rn_f16x2(u32 a, u32 b, u32 c) { return detail::math_bits(model::Math::fma_rn_f16x2, a, b, c); }
FOVEA_INLINE u32 max_f16x2(u32 a, u32 b) { return detail::math_bits(model::Math::max_f16x2, a, b); }
// ex2.approx.ftz.bf16x2 (SM90) and ex2.approx.f16x2 (SM80).
FOVEA_INLINE u32 ex2_approx_ftz_bf16x2(u32 a) { return detail::math_bits(model::Math::ex2_approx_ftz_bf16x2, a); }
FOVEA_INLINE u32 ex2_approx_f16x2(u32 a) { return detail::math_bits(model::Math::ex2_approx_f16x2, a); }

}  // namespace fovea::isa
