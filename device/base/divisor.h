// Division by a number that the host knows: a product and a shift instead of some twenty instructions (Granlund and
// Montgomery, Division by Invariant Integers using Multiplication, 1994).
#pragma once

#include "base/types.h"

namespace fovea {

struct Divisor {
  u32 multiplier, shift;
  constexpr bool operator==(const Divisor&) const = default;
};

// d: 1 to 2^31.
constexpr Divisor divisor(u32 d) {
  u32 shift = 0;
  while ((u64{1} << shift) < d) ++shift;
  return {static_cast<u32>(ceil_div(u64{1} << (31U + shift), u64{d})), shift};
}

// n / d, rounded down; n from 0 to 2^31 - 1. The multiplier is less than d / 2^(31 + shift) above the quotient's
// factor, and n below 2^31, so that the product stays below the next integer.
constexpr i32 quotient(i32 n, const Divisor& d) {
  return static_cast<i32>(static_cast<u32>((u64{2U * static_cast<u32>(n)} * d.multiplier) >> 32U) >> d.shift);
}

}  // namespace fovea
