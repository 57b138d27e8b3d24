// misuse: this accumulator, packed, is not the A operand
// The accumulator of one product becomes the A operand of the next only where the maps agree.
#include "tile/mma.h"

namespace fovea {

#ifdef MISUSE
// What four 8-bit columns per lane would need: tiles paired two columns apart.
inline constexpr FragmentMap kPairedColumns = [] {
  FragmentMap map = kMmaC32;
  map.map.basis[0] = kMmaC32.map.basis[2];
  map.map.basis[2] = kMmaC32.map.basis[0];
  return map;
}();
using Accumulator = Fragment<kPairedColumns, f32>;
#else
using Accumulator = FragC;
#endif

FragA next_operand(const Accumulator& left, const Accumulator& right) {
  return as_a_operand<Element::bf16>(left, right);
}

}  // namespace fovea
