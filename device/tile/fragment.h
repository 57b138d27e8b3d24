// Fragment: registers that hold a tile, with their layout in the type. A function that wants another layout does not
// accept it.
#pragma once

#include "isa/isa.h"
#include "layout/fragment_map.h"

namespace fovea {

template <FragmentMap kFragmentMap, class T>
struct Fragment {
  static constexpr FragmentMap kMap = kFragmentMap;
  static constexpr i32 kRegisters = kFragmentMap.registers();
  Array<T, kRegisters> reg;
};

using FragA = Fragment<kMmaA16, u32>;
using FragB = Fragment<kMmaB16, u32>;
using FragC = Fragment<kMmaC32, f32>;

FOVEA_INLINE FragC zero_accumulator() { return {{{0.0F, 0.0F, 0.0F, 0.0F}}}; }

}  // namespace fovea
