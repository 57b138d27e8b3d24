// Random numbers as pure functions of (seed, stream, index): no state, no order, and no libm call, so that a case holds
// the same bits on every machine.
#pragma once

#include <cstdint>

namespace fovea::cases {

// What the numbers are for; different streams of one seed are independent.
enum class Stream : std::uint64_t {
  q = 1,
  k,
  v,
  mask,
  bias,
  sink,
  q_length,
  kv_length,
  q_used,
  kv_used,
  pages,
  rows,
  draw
};

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t random_bits(std::uint64_t seed, Stream stream, std::uint64_t index) {
  return mix(mix(mix(seed) ^ static_cast<std::uint64_t>(stream)) ^ index);
}

// Uniform in [0, 1).
constexpr double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Uniform in [low, high], both included.
constexpr std::int64_t integer(std::uint64_t bits, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(high - low + 1));
}

// Mean 0, variance 1, |x| < 3.47: the sum of four uniform 16-bit numbers.
constexpr double normal(std::uint64_t bits) {
  const auto sum =
      static_cast<std::int64_t>((bits & 0xffffU) + ((bits >> 16) & 0xffffU) + ((bits >> 32) & 0xffffU) + (bits >> 48));
  return static_cast<double>(sum - 131070) * (1.7320508075688772 / 65536.0);
}

}  // namespace fovea::cases
