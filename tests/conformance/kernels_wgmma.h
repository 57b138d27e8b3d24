// wgmma.h: one warpgroup per CTA. Shared memory is filled with random elements and both sides read it through the same
// descriptor, so that layout and arithmetic are checked together. Two products are chained; a CTA writes one of the
// N / 8 column groups of D, another CTA another.
#pragma once

#include "slice.h"

namespace fovea::conformance {

enum class Swizzle : u32 { none = 0, b128 = 1, b64 = 2, b32 = 3 };

inline constexpr u32 kWgmmaBytesA = 8192;

// PTX ISA, "Matrix Descriptor Format". K-major: lbo unused when swizzled. MN-major: lbo to the next span of MN.
FOVEA_INLINE u64 descriptor(u32 smem, u32 lbo, u32 sbo, Swizzle swizzle) {
  const u64 start = (smem & 0x3ffffU) >> 4U;
  return start | static_cast<u64>(lbo >> 4U) << 16U | static_cast<u64>(sbo >> 4U) << 32U |
         static_cast<u64>(swizzle) << 62U;
}

// A dense operand of `rows` rows (or columns) and K of 32 bytes.
FOVEA_INLINE u64 k_major(u32 smem, Swizzle swizzle) {
  const u32 span = swizzle == Swizzle::b128 ? 128 : swizzle == Swizzle::b64 ? 64 : swizzle == Swizzle::b32 ? 32 : 16;
  return swizzle == Swizzle::none ? descriptor(smem, 128, 256, swizzle) : descriptor(smem, 16, 8 * span, swizzle);
}
// 16 k: two groups of eight rows per span of 64, 32 or 16 elements.
FOVEA_INLINE u64 mn_major(u32 smem, Swizzle swizzle) {
  const u32 span = swizzle == Swizzle::b128 ? 128 : swizzle == Swizzle::b64 ? 64 : 32;
  return swizzle == Swizzle::none ? descriptor(smem, 128, 256, swizzle)
                                  : descriptor(smem, 16 * span, 8 * span, swizzle);
}

// Input per CTA: A, B, then four words per thread that start the accumulators, and four that are A in registers.
template <int N, class Product>
FOVEA_INLINE void wgmma(const u32* in, u32* out, u32 words_b, Product product) {
  const u32 words_a = kWgmmaBytesA / 4;
  const u32* x = cta_slice(in, words_a + words_b + 1024);
  const u32 smem = isa::smem_base();
  fill_shared(smem, x, words_a + words_b);
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
  const u32* mine = x + words_a + words_b + 8 * isa::tid_x();
  Array<f32, N / 2> d;
  FOVEA_UNROLL
  for (int i = 0; i < N / 2; ++i) d[i] = real(mine, static_cast<u32>(i % 4));
  const Array<u32, 4> a{word(mine, 4), word(mine, 5), word(mine, 6), word(mine, 7)};
  const bool start = isa::ctaid_x() % 2 == 0;
  isa::wgmma_fence();
  product(d, a, smem, smem + kWgmmaBytesA, start);
  product(d, a, smem, smem + kWgmmaBytesA, true);
  isa::wgmma_commit_group();
  isa::wgmma_wait_group<0>();
  Sink sink{thread_slice(out, 4)};
  const int group = static_cast<int>(isa::ctaid_x()) % (N / 8);
  FOVEA_UNROLL
  for (int g = 0; g < N / 8; ++g) {
    if (g != group) continue;
    FOVEA_UNROLL
    for (int i = 0; i < 4; ++i) sink.put(d[4 * g + i]);
  }
}

FOVEA_ENTRY(128, 1) wgmma_bf16_n64(const u32* in, u32* out) {
  wgmma<64>(in, out, 2048, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_bf16_ss<64, 0, 0>(d, k_major(a, Swizzle::b128), k_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_bf16_n128_trans_b(const u32* in, u32* out) {
  wgmma<128>(in, out, 2048, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_bf16_ss<128, 0, 1>(d, k_major(a, Swizzle::b64), mn_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_bf16_n256_trans_a(const u32* in, u32* out) {
  wgmma<256>(in, out, 8192, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_bf16_ss<256, 1, 0>(d, mn_major(a, Swizzle::b128), k_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_bf16_n8(const u32* in, u32* out) {
  wgmma<8>(in, out, 256, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_bf16_ss<8, 0, 0>(d, k_major(a, Swizzle::none), k_major(b, Swizzle::none), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_f16_n32_trans(const u32* in, u32* out) {
  wgmma<32>(in, out, 1024, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_f16_ss<32, 1, 1>(d, mn_major(a, Swizzle::b64), mn_major(b, Swizzle::b32), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_f16_n16(const u32* in, u32* out) {
  wgmma<16>(in, out, 512, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k16_f32_f16_ss<16, 0, 0>(d, k_major(a, Swizzle::b32), k_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_bf16_rs_n192_trans_b(const u32* in, u32* out) {
  wgmma<192>(in, out, 2048, [](auto& d, auto a, u32, u32 b, bool start) {
    isa::wgmma_m64k16_f32_bf16_rs<192, 1>(d, a, mn_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_f16_rs_n96(const u32* in, u32* out) {
  wgmma<96>(in, out, 3072, [](auto& d, auto a, u32, u32 b, bool start) {
    isa::wgmma_m64k16_f32_f16_rs<96, 0>(d, a, k_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_e4m3_n128(const u32* in, u32* out) {
  wgmma<128>(in, out, 4096, [](auto& d, auto, u32 a, u32 b, bool start) {
    isa::wgmma_m64k32_f32_e4m3_ss<128>(d, k_major(a, Swizzle::b128), k_major(b, Swizzle::b128), start);
  });
}
FOVEA_ENTRY(128, 1) wgmma_e4m3_rs_n64(const u32* in, u32* out) {
  wgmma<64>(in, out, 2048, [](auto& d, auto a, u32, u32 b, bool start) {
    isa::wgmma_m64k32_f32_e4m3_rs<64>(d, a, k_major(b, Swizzle::b128), start);
  });
}

}  // namespace fovea::conformance
