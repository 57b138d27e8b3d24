// Warp-level matrix loads and stores, m8n8 with 16-bit elements (PTX ISA, "ldmatrix" and "movmatrix" SM80, "stmatrix"
// SM90).
#pragma once

#include "config.h"

namespace fovea::isa {

namespace detail {
template <int N>
FOVEA_INLINE Array<u32, N> ldmatrix(SmemPtr p, bool trans) {
  Array<u32, N> regs;
  model::this_thread().ldmatrix(regs.v, p.address, N, trans);
  return regs;
}
template <int N>
FOVEA_INLINE void stmatrix(SmemPtr p, const Array<u32, N>& regs, bool trans) {
  model::this_thread().stmatrix(p.address, regs.v, N, trans);
}
}  // namespace detail

FOVEA_INLINE Array<u32, 1> ldmatrix_x1(SmemPtr p) { return detail::ldmatrix<1>(p, false); }
FOVEA_INLINE Array<u32, 2> ldmatrix_x2(SmemPtr p) { return detail::ldmatrix<2>(p, false); }
FOVEA_INLINE Array<u32, 4> ldmatrix_x4(SmemPtr p) { return detail::ldmatrix<4>(p, false); }
FOVEA_INLINE Array<u32, 1> ldmatrix_x1_trans(SmemPtr p) { return detail::ldmatrix<1>(p, true); }
FOVEA_INLINE Array<u32, 2> ldmatrix_x2_trans(SmemPtr p) { return detail::ldmatrix<2>(p, true); }
FOVEA_INLINE Array<u32, 4> ldmatrix_x4_trans(SmemPtr p) { return detail::ldmatrix<4>(p, true); }

FOVEA_INLINE void stmatrix_x1(SmemPtr p, Array<u32, 1> regs) { detail::stmatrix(p, regs, false); }
FOVEA_INLINE void stmatrix_x2(SmemPtr p, Array<u32, 2> regs) { detail::stmatrix(p, regs, false); }
FOVEA_INLINE void stmatrix_x4(SmemPtr p, Array<u32, 4> regs) { detail::stmatrix(p, regs, false); }
FOVEA_INLINE void stmatrix_x1_trans(SmemPtr p, Array<u32, 1> regs) { detail::stmatrix(p, regs, true); }
FOVEA_INLINE void stmatrix_x2_trans(SmemPtr p, Array<u32, 2> regs) { detail::stmatrix(p, regs, true); }
FOVEA_INLINE void stmatrix_x4_trans(SmemPtr p, Array<u32, 4> regs) { detail::stmatrix(p, regs, true); }

FOVEA_INLINE u32 movmatrix_trans(u32 value) { return model::this_thread().movmatrix(value); }

}  // namespace fovea::isa
