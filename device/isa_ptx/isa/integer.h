// Integer and bit instructions that C++ has no operator for. Pure: plain asm.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Integer Arithmetic Instructions: mul.hi, sm_80. The upper 32 bits of the product.
FOVEA_INLINE u32 umulhi(u32 a, u32 b) {
  u32 d;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// Logic and Shift Instructions: lop3, sm_80. Any function of three bits: bit 4a + 2b + c of kLut.
template <u32 kLut>
FOVEA_INLINE u32 lop3(u32 a, u32 b, u32 c) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(kLut));
  return d;
}

// Data Movement and Conversion Instructions: prmt, sm_80. Picks four of the eight bytes of b:a, one per nibble.
FOVEA_INLINE u32 prmt(u32 a, u32 b, u32 selector) {
  u32 d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  return d;
}

// Integer Arithmetic Instructions: popc, sm_80.
FOVEA_INLINE u32 popc(u32 a) {
  u32 d;
  asm("popc.b32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

}  // namespace fovea::isa
