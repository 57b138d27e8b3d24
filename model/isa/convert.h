// Conversions of number formats (PTX ISA, "cvt"; SM80, 8-bit floats SM89). Packed results hold the first operand in the
// high half.
#pragma once

#include "config.h"

namespace fovea::isa {

namespace detail {
FOVEA_INLINE u32 cvt(model::Cvt op, f32 high, f32 low) {
  return model::this_thread().cvt(op, f32_bits(high), f32_bits(low));
}
}  // namespace detail

FOVEA_INLINE u32 cvt_rn_bf16x2(f32 high, f32 low) { return detail::cvt(model::Cvt::rn_bf16x2, high, low); }
FOVEA_INLINE u32 cvt_rn_f16x2(f32 high, f32 low) { return detail::cvt(model::Cvt::rn_f16x2, high, low); }
FOVEA_INLINE u16 cvt_rn_bf16(f32 x) { return static_cast<u16>(detail::cvt(model::Cvt::rn_bf16, 0.0F, x)); }
FOVEA_INLINE u16 cvt_rn_f16(f32 x) { return static_cast<u16>(detail::cvt(model::Cvt::rn_f16, 0.0F, x)); }
FOVEA_INLINE f32 cvt_f32_bf16(u16 x) { return f32_from_bits(model::this_thread().cvt(model::Cvt::f32_bf16, 0, x)); }
FOVEA_INLINE f32 cvt_f32_f16(u16 x) { return f32_from_bits(model::this_thread().cvt(model::Cvt::f32_f16, 0, x)); }
FOVEA_INLINE u16 cvt_rn_satfinite_e4m3x2(f32 high, f32 low) {
  return static_cast<u16>(detail::cvt(model::Cvt::rn_satfinite_e4m3x2, high, low));
}
FOVEA_INLINE u16 cvt_rn_satfinite_e5m2x2(f32 high, f32 low) {
  return static_cast<u16>(detail::cvt(model::Cvt::rn_satfinite_e5m2x2, high, low));
}
FOVEA_INLINE u32 cvt_rn_f16x2_e4m3x2(u16 x) { return model::this_thread().cvt(model::Cvt::rn_f16x2_e4m3x2, 0, x); }
FOVEA_INLINE u32 cvt_rna_tf32(f32 x) { return detail::cvt(model::Cvt::rna_tf32, 0.0F, x); }

}  // namespace fovea::isa
