// mma on typed fragments: D = A B + C for one m16n8k16 tile, and the accumulator of one product as A of the next.
#pragma once

#include "spec/fwd_spec.h"
#include "tile/fragment.h"

namespace fovea {

// d += a b. The element type chooses the instruction; the layouts are fixed by the parameter types.
template <Element kElement>
FOVEA_INLINE void mma(FragC& d, const FragA& a, const FragB& b) {
  static_assert(kElement != Element::fp32, "mma.m16n8k16 has no fp32 operands");
  if constexpr (kElement == Element::bf16) {
    d.reg = isa::mma_m16n8k16_f32_bf16(a.reg, b.reg, d.reg);
  } else {
    d.reg = isa::mma_m16n8k16_f32_f16(a.reg, b.reg, d.reg);
  }
}

// Two fp32 values as one register of 16-bit pairs; `low` in the low half.
template <Element kElement>
FOVEA_INLINE u32 pack2(f32 low, f32 high) {
  static_assert(kElement != Element::fp32, "fp32 needs no packing");
  if constexpr (kElement == Element::bf16) {
    return isa::cvt_rn_bf16x2(high, low);
  } else {
    return isa::cvt_rn_f16x2(high, low);
  }
}

// Two neighbouring n8 accumulators, narrowed, as the k16 A operand of the next product. Only where the maps agree.
template <Element kElement, class C>
FOVEA_INLINE FragA as_a_operand(const C& left, const C& right) {
  static_assert(packed_pair(C::kMap) == FragA::kMap,
                "this accumulator, packed, is not the A operand: it needs a shuffle or a permuted B");
  return {{{pack2<kElement>(left.reg[0], left.reg[1]), pack2<kElement>(left.reg[2], left.reg[3]),
            pack2<kElement>(right.reg[0], right.reg[1]), pack2<kElement>(right.reg[2], right.reg[3])}}};
}

}  // namespace fovea
