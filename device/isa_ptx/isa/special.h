// Special registers, the base of dynamic shared memory, and trap. Registers are read by plain asm: their values do not
// change during a thread's life, so the compiler may read them once.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Special Registers: %tid, sm_80.
FOVEA_INLINE u32 tid_x() {
  u32 d;
  asm("mov.u32 %0, %%tid.x;" : "=r"(d));
  return d;
}

// Special Registers: %ntid, sm_80.
FOVEA_INLINE u32 ntid_x() {
  u32 d;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(d));
  return d;
}

// Special Registers: %ctaid, sm_80.
FOVEA_INLINE u32 ctaid_x() {
  u32 d;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(d));
  return d;
}
FOVEA_INLINE u32 ctaid_y() {
  u32 d;
  asm("mov.u32 %0, %%ctaid.y;" : "=r"(d));
  return d;
}
FOVEA_INLINE u32 ctaid_z() {
  u32 d;
  asm("mov.u32 %0, %%ctaid.z;" : "=r"(d));
  return d;
}

// Special Registers: %nctaid, sm_80.
FOVEA_INLINE u32 nctaid_x() {
  u32 d;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(d));
  return d;
}
FOVEA_INLINE u32 nctaid_y() {
  u32 d;
  asm("mov.u32 %0, %%nctaid.y;" : "=r"(d));
  return d;
}
FOVEA_INLINE u32 nctaid_z() {
  u32 d;
  asm("mov.u32 %0, %%nctaid.z;" : "=r"(d));
  return d;
}

// Special Registers: %laneid, sm_80.
FOVEA_INLINE u32 laneid() {
  u32 d;
  asm("mov.u32 %0, %%laneid;" : "=r"(d));
  return d;
}

// Special Registers: %cluster_ctarank, sm_90.
FOVEA_INLINE u32 cluster_ctarank() {
  u32 d;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(d));
  return d;
}

// Special Registers: %cluster_nctarank, sm_90.
FOVEA_INLINE u32 cluster_nctarank() {
  u32 d;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(d));
  return d;
}

// State Spaces: .shared, sm_80. Byte address of the CTA's dynamic shared memory; a multiple of 1024, the period of the
// widest swizzle.
FOVEA_INLINE u32 smem_base() {
  extern __shared__ __attribute__((aligned(1024))) u8 fovea_dynamic_smem[];
  u32 d;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(d) : "l"(fovea_dynamic_smem));
  return d;
}

// Miscellaneous Instructions: trap, sm_80. Ends the grid with an error.
FOVEA_INLINE void trap() { asm volatile("trap;"); }

// No instruction: -, sm_80. Names the calling thread's role for reports of the model.
FOVEA_INLINE void set_role(const char*) {}

}  // namespace fovea::isa
