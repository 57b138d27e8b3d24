// mma.sync.aligned, .row.col (PTX ISA, "Multiply-and-Accumulate Instruction: mma"; SM80, e4m3 SM89). Each returns D.
#pragma once

#include "config.h"

namespace fovea::isa {

namespace detail {
using Words4 = Array<u32, 4>;
using Floats4 = Array<f32, 4>;

template <int A, int B>
FOVEA_INLINE Floats4 mma_f32(model::Mma op, const Array<u32, A>& a, const Array<u32, B>& b, const Floats4& c) {
  const Words4 c_bits = __builtin_bit_cast(Words4, c);
  Words4 d;
  model::this_thread().mma(op, a.v, b.v, c_bits.v, d.v);
  return __builtin_bit_cast(Floats4, d);
}
}  // namespace detail

FOVEA_INLINE Array<f32, 4> mma_m16n8k16_f32_bf16(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k16_bf16, a, b, c);
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k16_f32_f16(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k16_f16, a, b, c);
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_bf16(Array<u32, 2> a, Array<u32, 1> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k8_bf16, a, b, c);
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_f16(Array<u32, 2> a, Array<u32, 1> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k8_f16, a, b, c);
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_tf32(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k8_tf32, a, b, c);
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k32_f32_e4m3(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  return detail::mma_f32(model::Mma::k32_e4m3, a, b, c);
}
FOVEA_INLINE Array<u32, 2> mma_m16n8k16_f16_f16(Array<u32, 4> a, Array<u32, 2> b, Array<u32, 2> c) {
  Array<u32, 2> d;
  model::this_thread().mma(model::Mma::k16_f16_acc16, a.v, b.v, c.v, d.v);
  return d;
}

}  // namespace fovea::isa
