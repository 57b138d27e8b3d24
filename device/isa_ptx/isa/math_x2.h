// Arithmetic on two 16-bit floats in one register, each half on its own. Pure: plain asm.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Half Precision Floating Point Instructions: fma, sm_80.
FOVEA_INLINE u32 fma_rn_bf16x2(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
FOVEA_INLINE u32 fma_rn_f16x2(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// Half Precision Floating Point Instructions: max, sm_80.
FOVEA_INLINE u32 max_bf16x2(u32 a, u32 b) {
  u32 d;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
FOVEA_INLINE u32 max_f16x2(u32 a, u32 b) {
  u32 d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// Half Precision Floating Point Instructions: ex2, sm_80.
FOVEA_INLINE u32 ex2_approx_f16x2(u32 a) {
  u32 d;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

// Half Precision Floating Point Instructions: ex2, sm_90.
FOVEA_INLINE u32 ex2_approx_ftz_bf16x2(u32 a) {
  u32 d;
  asm("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

}  // namespace fovea::isa
