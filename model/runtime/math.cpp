// Scalar and packed arithmetic. Operations that PTX rounds are exact to the bit; .approx ones return the correctly
// rounded result, which the PTX ISA's error bounds contain.
#include <bit>
#include <cmath>

#include "model/runtime/machine.h"

namespace fovea::model {

namespace {
constexpr u32 kNan = 0x7fffffffU;

bool is_nan(u32 bits) { return (bits & 0x7fffffffU) > 0x7f800000U; }
u32 canonical(f32 x) { return std::isnan(x) ? kNan : f32_bits(x); }
u32 flush(u32 bits) { return (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits; }

// max.f32 and min.f32: the operand that is a number; +0 above -0.
u32 extremum(u32 a, u32 b, bool largest) {
  if (is_nan(a)) return is_nan(b) ? kNan : b;
  if (is_nan(b)) return a;
  const f32 x = f32_from_bits(a), y = f32_from_bits(b);
  if (x == y) return largest ? (a & b) : (a | b);  // equal bits, or zeros of two signs
  return (x > y) == largest ? a : b;
}

u32 ex2(u32 a) { return canonical(static_cast<f32>(std::exp2(static_cast<double>(f32_from_bits(a))))); }
u32 lg2(u32 a) { return canonical(static_cast<f32>(std::log2(static_cast<double>(f32_from_bits(a))))); }

u32 prmt(u32 a, u32 b, u32 selector) {
  const u64 bytes = (static_cast<u64>(b) << 32U) | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 select = selector >> (4 * i);
    u32 byte = static_cast<u32>(bytes >> (8 * (select & 7U))) & 0xffU;
    if ((select & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0U;  // replicate the sign
    result |= byte << (8 * i);
  }
  return result;
}

u32 lop3(u32 a, u32 b, u32 c, u32 lut) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i) {
    if ((lut >> i & 1U) == 0) continue;
    result |= ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c);
  }
  return result;
}

template <class Half>
u32 each_half(u32 a, u32 b, u32 c, Half half) {
  const u32 low = half(a & 0xffffU, b & 0xffffU, c & 0xffffU);
  return low | (half(a >> 16U, b >> 16U, c >> 16U) << 16U);
}

// One rounding to `mantissa` fraction bits from the exact a b + c: round to odd in double first, which a second
// rounding to at most 51 bits cannot spoil.
double fma_odd(double a, double b, double c) {
  const double product = a * b;  // exact: at most 22 significant bits
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  u64 bits = std::bit_cast<u64>(sum);
  if (error == 0.0 || (bits & 1U) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

// A double to a 16-bit format, one rounding to nearest even.
u32 narrow(double x, i32 mantissa, i32 min_exponent, u32 infinity) {
  if (std::isnan(x)) return 0x7fffU;
  const u32 sign = std::signbit(x) ? 0x8000U : 0U;
  const double magnitude = std::fabs(x);
  if (magnitude == 0.0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  const i32 exponent = std::max(std::ilogb(magnitude), min_exponent);
  const double units = std::nearbyint(std::ldexp(magnitude, mantissa - exponent));
  const u32 field = static_cast<u32>(exponent - min_exponent) << static_cast<u32>(mantissa);
  return sign | std::min(field + static_cast<u32>(units), infinity);
}
u32 narrow_bf16(double x) { return narrow(x, 7, -126, 0x7f80U); }
u32 narrow_f16(double x) { return narrow(x, 10, -14, 0x7c00U); }
double wide_bf16(u32 x) { return bf16_to_f32(static_cast<u16>(x)); }
double wide_f16(u32 x) { return f16_to_f32(static_cast<u16>(x)); }
u32 max_bf16(u32 a, u32 b, u32) { return extremum(a << 16U, b << 16U, true) >> 16U; }
u32 max_f16(u32 a, u32 b, u32) {
  const u32 wide = extremum(f32_bits(f16_to_f32(static_cast<u16>(a))), f32_bits(f16_to_f32(static_cast<u16>(b))), true);
  return is_nan(wide) ? 0x7fffU : f32_to_f16(f32_from_bits(wide));
}

u32 packed(Math op, u32 a, u32 b, u32 c) {
  switch (op) {
    case Math::fma_rn_bf16x2:
      return each_half(
          a, b, c, [](u32 x, u32 y, u32 z) { return narrow_bf16(fma_odd(wide_bf16(x), wide_bf16(y), wide_bf16(z))); });
    case Math::fma_rn_f16x2:
      return each_half(a, b, c,
                       [](u32 x, u32 y, u32 z) { return narrow_f16(fma_odd(wide_f16(x), wide_f16(y), wide_f16(z))); });
    case Math::max_bf16x2:
      return each_half(a, b, c, max_bf16);
    case Math::max_f16x2:
      return each_half(a, b, c, max_f16);
    case Math::ex2_approx_ftz_bf16x2:
      return each_half(a, b, c, [](u32 x, u32, u32) {
        const u32 in = (x & 0x7f80U) == 0 ? x & 0x8000U : x;
        const u32 out = narrow_bf16(std::exp2(wide_bf16(in)));
        return (out & 0x7f80U) == 0 ? out & 0x8000U : out;
      });
    default:
      return each_half(a, b, c, [](u32 x, u32, u32) { return narrow_f16(std::exp2(wide_f16(x))); });
  }
}
}  // namespace

u32 Thread::math(Math op, u32 a, u32 b, u32 c, u32 immediate) {
  need_defined(a, "arithmetic", "a");
  need_defined(b, "arithmetic", "b");
  need_defined(c, "arithmetic", "c");
  const f32 x = f32_from_bits(a), y = f32_from_bits(b), z = f32_from_bits(c);
  switch (op) {
    case Math::ex2_approx_ftz:
      return flush(ex2(flush(a)));
    case Math::ex2_approx:
      return ex2(a);
    case Math::lg2_approx_ftz:
      return flush(lg2(flush(a)));
    case Math::rcp_approx_ftz:
      return flush(canonical(1.0F / f32_from_bits(flush(a))));
    case Math::tanh_approx:
      return canonical(static_cast<f32>(std::tanh(static_cast<double>(x))));
    case Math::fma_rn:
      return canonical(std::fma(x, y, z));
    case Math::max:
      return extremum(a, b, true);
    case Math::min:
      return extremum(a, b, false);
    case Math::add_rn:
      return canonical(x + y);
    case Math::mul_rn:
      return canonical(x * y);
    case Math::div_rn:
      return canonical(x / y);
    case Math::umulhi:
      return static_cast<u32>((static_cast<u64>(a) * b) >> 32U);
    case Math::prmt:
      return prmt(a, b, c);
    case Math::popc:
      return static_cast<u32>(std::popcount(a));
    case Math::lop3:
      return lop3(a, b, c, immediate);
    case Math::ex2_approx_ftz_bf16x2:
      need_sm(90, "ex2.approx.ftz.bf16x2");
      return packed(op, a, b, c);
    case Math::fma_rn_bf16x2:
    case Math::max_bf16x2:
    case Math::fma_rn_f16x2:
    case Math::max_f16x2:
    case Math::ex2_approx_f16x2:
      return packed(op, a, b, c);
  }
  return 0;
}

}  // namespace fovea::model
