// bf16 and fp16 as bit types: exact widening and round-to-nearest-even narrowing, for host and device alike.
// Freestanding and constexpr: no standard header beyond what every compiler provides itself.
#pragma once

namespace fovea {

using u16 = unsigned short;
using u32 = unsigned int;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4);

constexpr u32 f32_bits(float x) { return __builtin_bit_cast(u32, x); }
constexpr float f32_from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }

constexpr float bf16_to_f32(u16 bits) { return f32_from_bits(static_cast<u32>(bits) << 16); }

// NaN stays NaN (quieted), overflow becomes Inf, ties go to even.
constexpr u16 f32_to_bf16(float x) {
  const u32 bits = f32_bits(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<u16>((bits >> 16) | 0x40U);
  return static_cast<u16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

constexpr float f16_to_f32(u16 bits) {
  const u32 sign = static_cast<u32>(bits & 0x8000U) << 16;
  const u32 exponent = (bits >> 10) & 0x1fU;
  const u32 mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) return f32_from_bits(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return f32_from_bits(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal: exact in fp32
  return f32_from_bits(sign | f32_bits(magnitude));
}

constexpr u16 f32_to_f16(float x) {
  const u32 bits = f32_bits(x);
  const u32 sign = (bits >> 16) & 0x8000U;
  const u32 magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<u16>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return static_cast<u16>(sign | 0x7c00U);  // rounds to 65536 or more: Inf
  if (magnitude < 0x38800000U) {                                          // subnormal half or zero
    // Adding 0.5 leaves ulp 2^-24, the subnormal step, so the fp32 adder does the rounding.
    const u32 rounded = f32_bits(f32_from_bits(magnitude) + 0.5F) - f32_bits(0.5F);
    return static_cast<u16>(sign | rounded);
  }
  const u32 rounded = magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<u16>(sign | (rounded >> 13));
}

static_assert(f32_to_bf16(1.0F) == 0x3f80U && bf16_to_f32(0x3f80U) == 1.0F);
static_assert(f32_to_f16(65504.0F) == 0x7bffU && f32_to_f16(65520.0F) == 0x7c00U && f32_to_f16(65519.0F) == 0x7bffU);
static_assert(f16_to_f32(0x0001U) == 0x1p-24F && f32_to_f16(0x1p-24F) == 0x0001U && f32_to_f16(0x1p-25F) == 0U);
static_assert(f16_to_f32(0x3555U) == 0.333251953125F && f32_to_f16(1.0F / 3.0F) == 0x3555U);

}  // namespace fovea
