// Arithmetic whose rounding a kernel relies on, and the approximate functions. Written as instructions, so that no
// compiler contracts, reassociates or flushes them. Pure: plain asm.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Floating Point Instructions: ex2, sm_80. 2^a.
FOVEA_INLINE f32 ex2_approx_ftz(f32 a) {
  f32 d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
FOVEA_INLINE f32 ex2_approx(f32 a) {
  f32 d;
  asm("ex2.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Floating Point Instructions: lg2, sm_80.
FOVEA_INLINE f32 lg2_approx_ftz(f32 a) {
  f32 d;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Floating Point Instructions: rcp, sm_80.
FOVEA_INLINE f32 rcp_approx_ftz(f32 a) {
  f32 d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Floating Point Instructions: tanh, sm_80.
FOVEA_INLINE f32 tanh_approx(f32 a) {
  f32 d;
  asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Floating Point Instructions: fma, sm_80.
FOVEA_INLINE f32 fma_rn(f32 a, f32 b, f32 c) {
  f32 d;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}

// Floating Point Instructions: add, sm_80.
FOVEA_INLINE f32 add_rn(f32 a, f32 b) {
  f32 d;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// Floating Point Instructions: mul, sm_80.
FOVEA_INLINE f32 mul_rn(f32 a, f32 b) {
  f32 d;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// Floating Point Instructions: div, sm_80. IEEE.
FOVEA_INLINE f32 div_rn(f32 a, f32 b) {
  f32 d;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// Floating Point Instructions: max, sm_80. The other operand when one is NaN; +0 is above -0.
FOVEA_INLINE f32 max(f32 a, f32 b) {
  f32 d;
  asm("max.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
FOVEA_INLINE f32 max3(f32 a, f32 b, f32 c) { return max(max(a, b), c); }

// Floating Point Instructions: min, sm_80. The other operand when one is NaN; -0 is below +0.
FOVEA_INLINE f32 min(f32 a, f32 b) {
  f32 d;
  asm("min.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

}  // namespace fovea::isa
