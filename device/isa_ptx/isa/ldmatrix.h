// 8x8 matrices of 16-bit elements between shared memory and fragments. Lane l gives the address of row l % 8 of matrix
// l / 8, 16-byte aligned; a register holds columns 2 (l % 4) and + 1 of row l / 4, or of column l / 4 when transposed.
// Volatile: all lanes of the warp execute these together. Which fragment a tile needs is device/layout's business.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Warp-level Matrix Load Instruction: ldmatrix, sm_80.
FOVEA_INLINE Array<u32, 1> ldmatrix_x1(SmemPtr p) {
  Array<u32, 1> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%0}, [%1];" : "=r"(d.v[0]) : "r"(p.address));
  return d;
}
FOVEA_INLINE Array<u32, 2> ldmatrix_x2(SmemPtr p) {
  Array<u32, 2> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(d.v[0]), "=r"(d.v[1])
               : "r"(p.address));
  return d;
}
FOVEA_INLINE Array<u32, 4> ldmatrix_x4(SmemPtr p) {
  Array<u32, 4> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d.v[0]), "=r"(d.v[1]), "=r"(d.v[2]), "=r"(d.v[3])
               : "r"(p.address));
  return d;
}
FOVEA_INLINE Array<u32, 1> ldmatrix_x1_trans(SmemPtr p) {
  Array<u32, 1> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%0}, [%1];" : "=r"(d.v[0]) : "r"(p.address));
  return d;
}
FOVEA_INLINE Array<u32, 2> ldmatrix_x2_trans(SmemPtr p) {
  Array<u32, 2> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(d.v[0]), "=r"(d.v[1])
               : "r"(p.address));
  return d;
}
FOVEA_INLINE Array<u32, 4> ldmatrix_x4_trans(SmemPtr p) {
  Array<u32, 4> d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d.v[0]), "=r"(d.v[1]), "=r"(d.v[2]), "=r"(d.v[3])
               : "r"(p.address));
  return d;
}

// Warp-level Matrix Store Instruction: stmatrix, sm_90.
FOVEA_INLINE void stmatrix_x1(SmemPtr p, Array<u32, 1> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [%0], {%1};" ::"r"(p.address), "r"(a.v[0]) : "memory");
}
FOVEA_INLINE void stmatrix_x2(SmemPtr p, Array<u32, 2> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(p.address), "r"(a.v[0]),
               "r"(a.v[1])
               : "memory");
}
FOVEA_INLINE void stmatrix_x4(SmemPtr p, Array<u32, 4> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(p.address), "r"(a.v[0]),
               "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3])
               : "memory");
}
FOVEA_INLINE void stmatrix_x1_trans(SmemPtr p, Array<u32, 1> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 [%0], {%1};" ::"r"(p.address), "r"(a.v[0])
               : "memory");
}
FOVEA_INLINE void stmatrix_x2_trans(SmemPtr p, Array<u32, 2> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(p.address), "r"(a.v[0]),
               "r"(a.v[1])
               : "memory");
}
FOVEA_INLINE void stmatrix_x4_trans(SmemPtr p, Array<u32, 4> a) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(p.address),
               "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3])
               : "memory");
}

// Warp-level Matrix Transpose Instruction: movmatrix, sm_80.
FOVEA_INLINE u32 movmatrix_trans(u32 a) {
  u32 d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

}  // namespace fovea::isa
