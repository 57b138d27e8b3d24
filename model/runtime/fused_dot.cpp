// Fused sums: see fused_dot.h. Doubles hold every product and every aligned term exactly: terms are integers below 2^53
// in units of the last kept bit.
#include "model/runtime/fused_dot.h"

#include <algorithm>
#include <cmath>

namespace fovea::model {

namespace {
// 2^n for exponents of normal doubles.
constexpr double power_of_two(i32 n) { return __builtin_bit_cast(double, static_cast<u64>(n + 1023) << 52U); }

Operand operand_f32(u32 bits) {
  const u32 field = bits >> 23U & 0xffU;
  if ((bits & 0x7fffffffU) == 0) return {};
  const i32 exponent = field == 0 ? -126 : static_cast<i32>(field) - 127;
  return {static_cast<double>(f32_from_bits(bits)), exponent, field == 0xffU};
}

struct FusedSum {
  double value;  // in units of 2^(exponent - fraction_bits)
  i32 exponent;
};

// Of K known to the compiler, so that the loops become vector code.
template <u32 K>
FusedSum fused_sum(const double* a, const i32* ea, const double* b, const i32* eb, const Operand& c,
                   i32 fraction_bits) {
  i32 largest = std::max(c.exponent, kFloorExponent);
  for (u32 i = 0; i < K; ++i) largest = std::max(largest, ea[i] + eb[i]);
  const double scale = power_of_two(fraction_bits - largest);
  // A product is below 4 * 2^largest, so a term fits 32 bits for at most 28 fraction bits.
  double term[K];
  for (u32 i = 0; i < K; ++i) term[i] = static_cast<double>(static_cast<i32>(a[i] * b[i] * scale));
  double sum = static_cast<double>(static_cast<i32>(c.value * scale));
  for (u32 i = 0; i < K; ++i) sum += term[i];
  return {sum, largest};
}

FusedSum fused_step(const OperandRow& a, const OperandRow& b, u32 begin, u32 k, const Operand& c, i32 fraction_bits) {
  const double *va = a.value + begin, *vb = b.value + begin;
  const i32 *ea = a.exponent + begin, *eb = b.exponent + begin;
  switch (k) {
    case 4:
      return fused_sum<4>(va, ea, vb, eb, c, fraction_bits);
    case 8:
      return fused_sum<8>(va, ea, vb, eb, c, fraction_bits);
    case 16:
      return fused_sum<16>(va, ea, vb, eb, c, fraction_bits);
    default:
      return fused_sum<32>(va, ea, vb, eb, c, fraction_bits);
  }
}

// Truncates towards zero to `bits` fraction bits of an f32; subnormal results are kept, what exceeds the range is Inf.
// A zero is positive, whatever it was truncated from.
u32 round_f32(double x, i32 bits) {
  const double magnitude = std::fabs(x);
  if (magnitude >= 0x1p128) return f32_bits(x < 0 ? -INFINITY : INFINITY);
  if (magnitude >= 0x1p-126) {  // a double's fraction, cut
    const u64 all = __builtin_bit_cast(u64, x);
    return f32_bits(static_cast<float>(__builtin_bit_cast(double, all&(~0ULL << static_cast<u32>(52 - bits)))));
  }
  const double unit = power_of_two(-126 - bits);
  const double kept = std::trunc(magnitude / unit) * unit;
  return kept == 0.0 ? 0 : f32_bits(static_cast<float>(x < 0 ? -kept : kept));
}

// Round to nearest even from an exact double, without passing through f32. Zeros are positive here too.
u32 round_f16(double x) {
  const double magnitude = std::fabs(x);
  const u32 sign = x < 0 ? 0x8000U : 0U;
  if (magnitude >= 65520.0) return sign | 0x7c00U;
  const i32 exponent = magnitude == 0.0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double kept = std::nearbyint(magnitude / unit) * unit;
  return kept == 0.0 ? 0 : sign | f32_to_f16(static_cast<float>(kept));
}

// Sums with Inf or NaN among their terms: IEEE rules without the question of order.
double special_sum(const OperandRow& a, const OperandRow& b, u32 k, const Operand& c) {
  double sum = c.value;
  for (u32 i = 0; i < k; ++i) sum += a.value[i] * b.value[i];
  return sum;
}
}  // namespace

Operand operand_bf16(u32 bits) { return operand_f32(bits << 16U); }
Operand operand_tf32(u32 bits) { return operand_f32(bits & 0xffffe000U); }
Operand operand_f16(u32 bits) {
  const u32 field = bits >> 10U & 0x1fU;
  if ((bits & 0x7fffU) == 0) return {};
  return {f16_to_f32(static_cast<u16>(bits)), field == 0 ? -14 : static_cast<i32>(field) - 15, field == 0x1fU};
}
Operand operand_e4m3(u32 bits) {
  const u32 magnitude = bits & 0x7fU, field = magnitude >> 3U;
  if (magnitude == 0) return {};
  if (magnitude == 0x7fU) return {NAN, 8, true};
  const i32 exponent = field == 0 ? -6 : static_cast<i32>(field) - 7;
  const double value = ((magnitude & 7U) + (field == 0 ? 0U : 8U)) * power_of_two(exponent - 3);
  return {(bits & 0x80U) != 0 ? -value : value, exponent, false};
}

u32 fused_dot_f32(const OperandRow& a, const OperandRow& b, u32 k, u32 c_bits, const FusedRule& rule) {
  const u32 step = k / rule.steps;
  for (u32 begin = 0; begin < k; begin += step) {
    const Operand c = operand_f32(c_bits);
    if (a.special || b.special || c.special) {
      const double sum = special_sum(a, b, k, c);
      return std::isnan(sum) ? 0x7fffffffU : f32_bits(static_cast<float>(sum));
    }
    const FusedSum s = fused_step(a, b, begin, step, c, rule.fraction_bits);
    c_bits = round_f32(s.value * power_of_two(s.exponent - rule.fraction_bits), rule.result_bits);
  }
  return c_bits;
}

u32 fused_dot_f16(const OperandRow& a, const OperandRow& b, u32 k, u32 c_bits, const FusedRule& rule) {
  const u32 step = k / rule.steps;
  for (u32 begin = 0; begin < k; begin += step) {
    const Operand c = operand_f16(c_bits);
    if (a.special || b.special || c.special) {
      const double sum = special_sum(a, b, k, c);
      if (std::isnan(sum)) return 0x7fffU;
      return std::isinf(sum) ? (sum < 0 ? 0xfc00U : 0x7c00U) : round_f16(sum);
    }
    const FusedSum s = fused_step(a, b, begin, step, c, rule.fraction_bits);
    c_bits = round_f16(s.value * power_of_two(s.exponent - rule.fraction_bits));
  }
  return c_bits;
}

}  // namespace fovea::model
