// Warp-level matrix multiply-accumulate: D = A B + C, A row-major, B column-major. Lower k sits in the lower bits of a
// register; the maps from lane and register to element are in device/layout. Volatile, because all lanes of the warp
// execute these together: the compiler must not sink one into a branch.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Warp-level Matrix Instructions: mma, sm_80.
FOVEA_INLINE Array<f32, 4> mma_m16n8k16_f32_bf16(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
      : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));
  return c;
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k16_f32_f16(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
      : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));
  return c;
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_bf16(Array<u32, 2> a, Array<u32, 1> b, Array<f32, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
               : "r"(a.v[0]), "r"(a.v[1]), "r"(b.v[0]));
  return c;
}
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_f16(Array<u32, 2> a, Array<u32, 1> b, Array<f32, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
               : "r"(a.v[0]), "r"(a.v[1]), "r"(b.v[0]));
  return c;
}
// f16 accumulators: register r holds columns 2 (lane % 4) (low half) and + 1 of row lane / 4 + 8 r.
FOVEA_INLINE Array<u32, 2> mma_m16n8k16_f16_f16(Array<u32, 4> a, Array<u32, 2> b, Array<u32, 2> c) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(c.v[0]), "+r"(c.v[1])
               : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));
  return c;
}
// tf32 operands are fp32 bit patterns whose low 13 bits are dropped.
FOVEA_INLINE Array<f32, 4> mma_m16n8k8_f32_tf32(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
      : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));
  return c;
}

// Warp-level Matrix Instructions: mma, sm_89. Emulated by 16-bit products on sm_90 and sm_100.
FOVEA_INLINE Array<f32, 4> mma_m16n8k32_f32_e4m3(Array<u32, 4> a, Array<u32, 2> b, Array<f32, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
      : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));
  return c;
}

}  // namespace fovea::isa
