// How far a model result may lie from the hardware's: bit for bit, or within the bounds that the PTX ISA states for the
// approximate functions.
#pragma once

#include "conformance/cases.h"

namespace fovea::conformance {

// Order of magnitude-signed values, so that neighbours differ by one; both zeros are 0.
constexpr i64 ordered(u32 bits, u32 sign_bit) {
  const i64 magnitude = static_cast<i64>(bits & (sign_bit - 1));
  return (bits & sign_bit) != 0 ? -magnitude : magnitude;
}

constexpr i64 ulp_distance(u32 a, u32 b, u32 sign_bit) {
  const i64 distance = ordered(a, sign_bit) - ordered(b, sign_bit);
  return distance < 0 ? -distance : distance;
}

// Column: which of a thread's outputs, in the order of the kernel `approximate`: ex2.ftz, ex2, lg2.ftz, rcp.ftz, tanh.
// Both sides approximate, so a bound is twice the stated error. lg2 is bound by 2^-22 absolute near 1 and tanh by 2^-11
// relative.
constexpr bool close_f32(u32 column, u32 got, u32 wanted) {
  constexpr i64 kUlps[] = {4, 4, 4, 2, i64{1} << 14U};
  if (got == wanted) return true;
  const bool special = (got & 0x7f800000U) == 0x7f800000U || (wanted & 0x7f800000U) == 0x7f800000U;
  if (special) return false;
  if (column == 2) {
    const f32 difference = f32_from_bits(got) - f32_from_bits(wanted);
    if (difference < 0x1p-21F && difference > -0x1p-21F) return true;
  }
  return ulp_distance(got, wanted, 0x80000000U) <= kUlps[column];
}

// Two halves, each within `ulps`; infinities and NaNs bit for bit.
constexpr bool close_pair(u32 got, u32 wanted, u32 exponent_mask, i64 ulps) {
  for (u32 shift = 0; shift < 32; shift += 16) {
    const u32 a = got >> shift & 0xffffU;
    const u32 b = wanted >> shift & 0xffffU;
    const bool special = (a & exponent_mask) == exponent_mask || (b & exponent_mask) == exponent_mask;
    if (a != b && (special || ulp_distance(a, b, 0x8000U) > ulps)) return false;
  }
  return true;
}

// `index`: of the word in a CTA's output.
constexpr bool agrees(const Case& test, u32 index, u32 got, u32 wanted) {
  switch (test.compare) {
    case Compare::exact:
      return got == wanted;
    case Compare::ulp_f32:
      return close_f32(index % (test.out_words / test.threads), got, wanted);
    case Compare::ulp_f16:
      return close_pair(got, wanted, 0x7c00U, 4);
    case Compare::ulp_bf16:
      return close_pair(got, wanted, 0x7f80U, 2);
  }
  return false;
}

}  // namespace fovea::conformance
