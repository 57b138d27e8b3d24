// Conversions between fp32 and the narrow formats, round to nearest even unless named otherwise. In packed forms the
// first argument goes to the high half. Narrow NaNs are canonical: 0x7fff for bf16 and f16, 0x7f for e4m3.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Data Movement and Conversion Instructions: cvt, sm_80.
FOVEA_INLINE u32 cvt_rn_bf16x2(f32 hi, f32 lo) {
  u32 d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
  return d;
}
FOVEA_INLINE u32 cvt_rn_f16x2(f32 hi, f32 lo) {
  u32 d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
  return d;
}
FOVEA_INLINE u16 cvt_rn_bf16(f32 a) {
  u16 d;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}
FOVEA_INLINE u16 cvt_rn_f16(f32 a) {
  u16 d;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  return d;
}
FOVEA_INLINE f32 cvt_f32_f16(u16 a) {
  f32 d;
  asm("cvt.f32.f16 %0, %1;" : "=f"(d) : "h"(a));
  return d;
}
// Nearest, ties away from zero; the low 13 bits of the result are zero.
FOVEA_INLINE u32 cvt_rna_tf32(f32 a) {
  u32 d;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  return d;
}

// Data Movement and Conversion Instructions: mov, sm_80. bf16 is the upper half of fp32: a move, NaN payloads kept.
FOVEA_INLINE f32 cvt_f32_bf16(u16 a) {
  f32 d;
  asm("mov.b32 %0, {0, %1};" : "=f"(d) : "h"(a));
  return d;
}

// Data Movement and Conversion Instructions: cvt, sm_89. Saturates to the largest finite value, infinities too.
FOVEA_INLINE u16 cvt_rn_satfinite_e4m3x2(f32 hi, f32 lo) {
  u16 d;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(d) : "f"(hi), "f"(lo));
  return d;
}
FOVEA_INLINE u16 cvt_rn_satfinite_e5m2x2(f32 hi, f32 lo) {
  u16 d;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(d) : "f"(hi), "f"(lo));
  return d;
}
FOVEA_INLINE u32 cvt_rn_f16x2_e4m3x2(u16 a) {
  u32 d;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(a));
  return d;
}

}  // namespace fovea::isa
