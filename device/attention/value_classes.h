// Inf and NaN in V. The products multiply every V element of a block with every row's weight, and 0 * Inf is NaN: a key
// that a row does not see would reach it through such an element. When a tile's output is not finite it is computed
// again, once for each class of V elements: a count of the keys that a row sees with +Inf, the same for -Inf, where NaN
// counts as both, then the finite elements as they are. From the three results follows what the contract asks for
// (docs/contract.md, sections 2, 3).
#pragma once

#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// In the order in which they are taken, last first. all: V as it is. minus, plus: -Inf or +Inf, and NaN.
enum class ValueClass : u32 { finite, minus, plus, all };

template <Element kElement>
struct Format16 {
  static constexpr u32 kExponent = kElement == Element::bf16 ? 0x7f80U : 0x7c00U;
  static constexpr u32 kOne = kElement == Element::bf16 ? 0x3f80U : 0x3c00U;
};

// ValueClass::finite: x, or 0 where x is not finite. Otherwise 1 where x belongs to the class, else 0.
template <Element kElement>
FOVEA_INLINE u32 element_in_class(u32 x, ValueClass wanted) {
  constexpr u32 kExponent = Format16<kElement>::kExponent;
  const u32 magnitude = x & 0x7fffU;
  if (wanted == ValueClass::finite) return magnitude < kExponent ? x : 0U;
  const u32 infinity = wanted == ValueClass::plus ? kExponent : kExponent | 0x8000U;
  return magnitude > kExponent || x == infinity ? Format16<kElement>::kOne : 0U;
}

// Replaces a V tile in shared memory by its elements of a class. Thread `thread` of `threads` that all take part;
// barriers are the caller's.
template <FwdSpec kSpec>
FOVEA_INLINE void keep_class(SmemPtr tile, ValueClass wanted, i32 thread, i32 threads) {
  constexpr i32 kChunks = kSpec.head_dim_v / 8;
  for (i32 i = thread; i < kSpec.tile_n * kChunks; i += threads) {
    const SmemPtr piece =
        tile + kSpec.v_tile().offset(static_cast<u32>(i / kChunks), static_cast<u32>(i % kChunks * 8));
    for (u32 at = 0; at < 16; at += 4) {
      const u32 pair = isa::ld_shared<u32>(piece + at);
      const u32 low = element_in_class<kSpec.element>(pair & 0xffffU, wanted);
      const u32 high = element_in_class<kSpec.element>(pair >> 16U, wanted);
      isa::st_shared<u32>(piece + at, low | (high << 16U));
    }
  }
}

// Whether a class's result is a count of keys.
FOVEA_INLINE bool counts_keys(ValueClass wanted) { return wanted != ValueClass::all && wanted != ValueClass::finite; }

// Register i of accumulators: register i % 4 of n8 tile i / 4.
template <i32 kTiles>
FOVEA_INLINE f32& accumulator(Array<FragC, kTiles>& c, i32 i) {
  return c[i / 4].reg[i % 4];
}
template <i32 kTiles>
FOVEA_INLINE f32 accumulator(const Array<FragC, kTiles>& c, i32 i) {
  return c[i / 4].reg[i % 4];
}

// Scores that all weigh the same, for counting keys: 0 for a key that the row sees, -inf for another.
template <i32 kKeyTiles, class Scores>
FOVEA_INLINE void level_visible(Scores& s) {
  FOVEA_UNROLL
  for (i32 i = 0; i < 4 * kKeyTiles; ++i) {
    f32& x = accumulator(s, i);
    x = x == kMinusInfinity ? kMinusInfinity : 0.0F;
  }
}

// The sum of 0 * x: NaN if some element is not finite, else 0.
template <i32 kOutTiles, class Output>
FOVEA_INLINE f32 finiteness(const Output& o) {
  Array<f32, 4> sum{{0.0F, 0.0F, 0.0F, 0.0F}};
  FOVEA_UNROLL
  for (i32 i = 0; i < 4 * kOutTiles; ++i) sum[i % 4] = isa::fma_rn(accumulator(o, i), 0.0F, sum[i % 4]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The same of narrowed elements, two in a word: sums of 0 * x in four chains.
template <Element kElement>
class PairFiniteness {
 public:
  FOVEA_INLINE void add(const Array<u32, 4>& pairs) {
    FOVEA_UNROLL
    for (i32 i = 0; i < 4; ++i) {
      sum_[i] = kElement == Element::bf16 ? isa::fma_rn_bf16x2(pairs[i], 0U, sum_[i])
                                          : isa::fma_rn_f16x2(pairs[i], 0U, sum_[i]);
    }
  }
  FOVEA_INLINE bool all() const { return ((sum_[0] | sum_[1] | sum_[2] | sum_[3]) & 0x7fff7fffU) == 0U; }

 private:
  Array<u32, 4> sum_{{0U, 0U, 0U, 0U}};
};

// Which output elements of a row block see an Inf or a NaN: bit i % 32 of word i / 32 stands for register i % 4 of n8
// tile i / 4. A NaN is both, as Inf - Inf is NaN.
template <i32 kOutTiles>
struct Infinities {
  static constexpr i32 kWords = ceil_div(4 * kOutTiles, 32);
  Array<u32, kWords> plus, minus;

  FOVEA_INLINE void clear() {
    FOVEA_UNROLL
    for (i32 w = 0; w < kWords; ++w) plus[w] = minus[w] = 0;
  }

  // Takes the counts of a pass: the one for plus comes first, then the one for minus.
  template <class Output>
  FOVEA_INLINE void add(const Output& counts) {
    FOVEA_UNROLL
    for (i32 w = 0; w < kWords; ++w) {
      u32 seen = 0;
      FOVEA_UNROLL
      for (i32 i = 32 * w; i < min(32 * w + 32, 4 * kOutTiles); ++i) {
        if (accumulator(counts, i) > 0.0F) seen |= 1U << static_cast<u32>(i % 32);
      }
      plus[w] = minus[w];
      minus[w] = seen;
    }
  }

  // Adds them to the sums over finite elements.
  template <class Output>
  FOVEA_INLINE void apply(Output& o) const {
    FOVEA_UNROLL
    for (i32 i = 0; i < 4 * kOutTiles; ++i) {
      const u32 bit = 1U << static_cast<u32>(i % 32);
      f32& x = accumulator(o, i);
      if ((plus[i / 32] & bit) != 0) x -= kMinusInfinity;
      if ((minus[i / 32] & bit) != 0) x += kMinusInfinity;
    }
  }
};

}  // namespace fovea
