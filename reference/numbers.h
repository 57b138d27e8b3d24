// Number formats: one element of a tensor as a double, and back. A double holds every bf16, f16 and f32 value exactly,
// so reading never rounds; writing rounds once, to nearest, ties to even. Where an element lies is not known here.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "fovea/fovea.h"

namespace fovea::reference {

// A 16-bit IEEE-style format: sign, exponent, fraction.
struct Format {
  int exponent_bits;
  int fraction_bits;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int infinity() const { return ((1 << exponent_bits) - 1) << fraction_bits; }
};
inline constexpr Format kBf16{8, 7};
inline constexpr Format kF16{5, 10};

// 2^n, and the exponent of a normal double; exact, and much quicker than std::ldexp and std::ilogb.
inline double power_of_two(int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + n) << 52); }
inline int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }

inline double decode(std::uint16_t bits, Format format) {
  const int magnitude = bits & 0x7fff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (magnitude > format.infinity()) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == format.infinity()) return sign * std::numeric_limits<double>::infinity();
  const int exponent = magnitude >> format.fraction_bits;
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int hidden = exponent == 0 ? 0 : 1 << format.fraction_bits;  // subnormals have no leading one
  return sign * (hidden + fraction) * power_of_two(std::max(exponent, 1) - format.bias() - format.fraction_bits);
}

inline std::uint16_t encode(double x, Format format) {
  const int sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | format.infinity() | 1 << (format.fraction_bits - 1));
  const double magnitude = std::abs(x);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  if (magnitude >= 2 * power_of_two(format.bias())) return static_cast<std::uint16_t>(sign | format.infinity());
  const int smallest = 1 - format.bias();
  const int exponent = std::max(exponent_of(magnitude), smallest);
  // In units of the last place; the leading one, if any, adds 1 to the exponent field, and so does a carry.
  const int units = static_cast<int>(std::nearbyint(magnitude * power_of_two(format.fraction_bits - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent - smallest) << format.fraction_bits) + units));
}

template <class T>
T load_as(const fovea_tensor& t, std::int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const T*>(t.data) + offset, sizeof(T));
  return value;
}

template <class T>
void store_as(const fovea_tensor& t, std::int64_t offset, T value) {
  std::memcpy(static_cast<T*>(t.data) + offset, &value, sizeof(T));
}

// The element `offset` elements after t.data.
inline double load(const fovea_tensor& t, std::int64_t offset) {
  switch (t.dtype) {
    case FOVEA_F64:
      return load_as<double>(t, offset);
    case FOVEA_F32:
      return static_cast<double>(load_as<float>(t, offset));
    case FOVEA_BF16:
      return decode(load_as<std::uint16_t>(t, offset), kBf16);
    case FOVEA_F16:
      return decode(load_as<std::uint16_t>(t, offset), kF16);
    case FOVEA_BOOL:
      return load_as<std::uint8_t>(t, offset) != 0 ? 1.0 : 0.0;
    case FOVEA_I32:
      return load_as<std::int32_t>(t, offset);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

inline void store(const fovea_tensor& t, std::int64_t offset, double x) {
  switch (t.dtype) {
    case FOVEA_F64:
      return store_as(t, offset, x);
    case FOVEA_F32:
      return store_as(t, offset, static_cast<float>(x));
    case FOVEA_BF16:
      return store_as(t, offset, encode(x, kBf16));
    case FOVEA_F16:
      return store_as(t, offset, encode(x, kF16));
    default:
      return;
  }
}

}  // namespace fovea::reference
