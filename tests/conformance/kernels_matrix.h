// ldmatrix.h and mma.h: one warp per CTA.
#pragma once

#include "slice.h"

namespace fovea::conformance {

template <int N>
FOVEA_INLINE void put_all(Sink& sink, const Array<u32, N>& values) {
  FOVEA_UNROLL
  for (int i = 0; i < N; ++i) sink.put(values[i]);
}
template <int N>
FOVEA_INLINE Array<u32, N> words(const u32* in, u32 first) {
  Array<u32, N> values;
  FOVEA_UNROLL
  for (int i = 0; i < N; ++i) values[i] = word(in, first + static_cast<u32>(i));
  return values;
}

// 64 rows of 16 bytes; each lane reads the row that its input names.
FOVEA_ENTRY(32, 1) ldmatrix(const u32* in, u32* out) {
  const u32* mine = cta_slice(in, 256 + 32);
  const u32 smem = isa::smem_base();
  fill_shared(smem, mine, 256);
  const SmemPtr row{smem + 16 * (word(mine, 256 + isa::laneid()) % 64)};
  Sink sink{thread_slice(out, 15)};
  put_all(sink, isa::ldmatrix_x1(row));
  put_all(sink, isa::ldmatrix_x2(row));
  put_all(sink, isa::ldmatrix_x4(row));
  put_all(sink, isa::ldmatrix_x1_trans(row));
  put_all(sink, isa::ldmatrix_x2_trans(row));
  put_all(sink, isa::ldmatrix_x4_trans(row));
  sink.put(isa::movmatrix_trans(word(mine, isa::laneid())));
}

// 32 rows of 16 bytes for each of six stores; row permutation from the input.
FOVEA_ENTRY(32, 1) stmatrix(const u32* in, u32* out) {
  constexpr u32 kWords = 6 * 128;
  const u32* mine = cta_slice(in, 32 * 4 + 1);
  const u32 smem = isa::smem_base();
  for (u32 i = isa::tid_x(); i < kWords; i += 32) isa::st_shared<u32>(SmemPtr{smem + 4 * i}, 0xaaaaaaaaU);
  isa::syncthreads();
  const u32 key = word(mine, 128);
  const SmemPtr row{smem + 16 * ((isa::laneid() * (2 * key + 1) + key / 16) % 32)};
  const Array<u32, 4> v = words<4>(mine, 4 * isa::laneid());
  isa::stmatrix_x1(row, {v[0]});
  isa::stmatrix_x2(row + 512, {v[0], v[1]});
  isa::stmatrix_x4(row + 1024, v);
  isa::stmatrix_x1_trans(row + 1536, {v[0]});
  isa::stmatrix_x2_trans(row + 2048, {v[0], v[1]});
  isa::stmatrix_x4_trans(row + 2560, v);
  dump_shared(cta_slice(out, kWords), smem, kWords);
}

// Per lane: kA words of A, kB of B, four of C.
template <int kA, int kB, class Product>
FOVEA_INLINE void mma_f32(const u32* in, u32* out, Product product) {
  const u32* x = thread_slice(in, kA + kB + 4);
  const Array<u32, 4> c = words<4>(x, kA + kB);
  const Array<f32, 4> d =
      product(words<kA>(x, 0), words<kB>(x, kA),
              Array<f32, 4>{f32_from_bits(c[0]), f32_from_bits(c[1]), f32_from_bits(c[2]), f32_from_bits(c[3])});
  Sink sink{thread_slice(out, 4)};
  FOVEA_UNROLL
  for (int i = 0; i < 4; ++i) sink.put(d[i]);
}

FOVEA_ENTRY(32, 1) mma_k16_bf16(const u32* in, u32* out) {
  mma_f32<4, 2>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k16_f32_bf16(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k16_f16(const u32* in, u32* out) {
  mma_f32<4, 2>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k16_f32_f16(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k8_bf16(const u32* in, u32* out) {
  mma_f32<2, 1>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k8_f32_bf16(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k8_f16(const u32* in, u32* out) {
  mma_f32<2, 1>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k8_f32_f16(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k8_tf32(const u32* in, u32* out) {
  mma_f32<4, 2>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k8_f32_tf32(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k32_e4m3(const u32* in, u32* out) {
  mma_f32<4, 2>(in, out, [](auto a, auto b, auto c) { return isa::mma_m16n8k32_f32_e4m3(a, b, c); });
}
FOVEA_ENTRY(32, 1) mma_k16_f16_acc16(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 8);
  Sink sink{thread_slice(out, 2)};
  put_all(sink, isa::mma_m16n8k16_f16_f16(words<4>(x, 0), words<2>(x, 4), words<2>(x, 6)));
}

}  // namespace fovea::conformance
