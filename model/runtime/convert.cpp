// cvt (PTX ISA, "cvt", "cvt.pack"): round to nearest even unless the name says otherwise. NaN becomes 0x7fff in 16-bit
// and 0x7f in 8-bit formats, 0x7fffffff where an f16 is widened.
#include <algorithm>
#include <cmath>

#include "model/runtime/machine.h"

namespace fovea::model {

namespace {
bool is_nan(u32 bits) { return (bits & 0x7fffffffU) > 0x7f800000U; }
u32 to_bf16(u32 bits) { return is_nan(bits) ? 0x7fffU : f32_to_bf16(f32_from_bits(bits)); }
u32 to_f16(u32 bits) { return is_nan(bits) ? 0x7fffU : f32_to_f16(f32_from_bits(bits)); }

struct SmallFormat {
  i32 mantissa, min_exponent;  // of normal numbers
  double largest;
  u32 largest_bits;
};
constexpr SmallFormat kE4m3{3, -6, 448.0, 0x7e};
constexpr SmallFormat kE5m2{2, -14, 57344.0, 0x7b};

// .satfinite: what rounds beyond the largest finite value, infinity included, becomes that value.
u32 to_small(u32 bits, const SmallFormat& format) {
  if (is_nan(bits)) return 0x7fU;
  const double x = f32_from_bits(bits);
  const u32 sign = bits >> 31U << 7U;
  const double magnitude = std::fabs(x);
  if (magnitude > format.largest) return sign | format.largest_bits;
  const i32 exponent = magnitude == 0.0 ? format.min_exponent : std::max(std::ilogb(magnitude), format.min_exponent);
  // In units of the last place: at most 2^(mantissa + 1); a carry runs into the exponent field by itself.
  const auto units = static_cast<u32>(std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent)));
  const u32 field = static_cast<u32>(exponent - format.min_exponent) << static_cast<u32>(format.mantissa);
  return sign | (field + units);
}

u32 f16_of_e4m3(u32 bits) {
  const u32 magnitude = bits & 0x7fU;
  if (magnitude == 0x7fU) return 0x7fffU;
  const u32 field = magnitude >> 3U;
  const i32 exponent = field == 0 ? -6 : static_cast<i32>(field) - 7;
  const double value = std::ldexp((magnitude & 7U) + (field == 0 ? 0U : 8U), exponent - 3);
  return ((bits & 0x80U) << 8U) | f32_to_f16(static_cast<float>(value));
}

// Round half away from zero to 10 fraction bits. Inf and NaN are cut, so that a NaN with none but low bits becomes Inf
// (measured on SM90).
u32 to_tf32(u32 bits) {
  const bool special = (bits & 0x7f800000U) == 0x7f800000U;
  return (special ? bits : bits + 0x1000U) & 0xffffe000U;
}

u32 widen_f16(u32 bits) {
  const u32 wide = f32_bits(f16_to_f32(static_cast<u16>(bits)));
  return is_nan(wide) ? 0x7fffffffU : wide;
}
}  // namespace

u32 Thread::cvt(Cvt op, u32 high, u32 low) {
  need_defined(high, "cvt", "a");
  need_defined(low, "cvt", "b");
  switch (op) {
    case Cvt::rn_bf16x2:
      return (to_bf16(high) << 16U) | to_bf16(low);
    case Cvt::rn_f16x2:
      return (to_f16(high) << 16U) | to_f16(low);
    case Cvt::rn_bf16:
      return to_bf16(low);
    case Cvt::rn_f16:
      return to_f16(low);
    case Cvt::f32_bf16:
      return low << 16U;
    case Cvt::f32_f16:
      return widen_f16(low);
    case Cvt::rn_satfinite_e4m3x2:
      need_sm(89, "cvt.rn.satfinite.e4m3x2");
      return (to_small(high, kE4m3) << 8U) | to_small(low, kE4m3);
    case Cvt::rn_satfinite_e5m2x2:
      need_sm(89, "cvt.rn.satfinite.e5m2x2");
      return (to_small(high, kE5m2) << 8U) | to_small(low, kE5m2);
    case Cvt::rn_f16x2_e4m3x2:
      need_sm(89, "cvt.rn.f16x2.e4m3x2");
      return (f16_of_e4m3(low >> 8U) << 16U) | f16_of_e4m3(low & 0xffU);
    case Cvt::rna_tf32:
      return to_tf32(low);
  }
  return 0;
}

}  // namespace fovea::model
