// Read-modify-write on global memory and the acquire and release accesses that go with it. Reductions made by the copy
// engine are in tma.h.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Parallel Synchronization and Communication Instructions: atom, sm_80. Relaxed, device scope; the old value.
FOVEA_INLINE u32 atom_add_global(u32* p, u32 v) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
// Wraps to 0 after `limit`: old >= limit ? 0 : old + 1.
FOVEA_INLINE u32 atom_inc_global(u32* p, u32 limit) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(limit) : "memory");
  return old;
}

// Parallel Synchronization and Communication Instructions: red, sm_80. Relaxed, device scope; subnormals kept.
FOVEA_INLINE void red_add_global(f32* p, f32 v) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}

// Parallel Synchronization and Communication Instructions: red, sm_90. Each element is atomic, the vector is not.
FOVEA_INLINE void red_add_global_v2(f32* p, f32 x, f32 y) {
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x), "f"(y) : "memory");
}
FOVEA_INLINE void red_add_global_v4(f32* p, f32 x, f32 y, f32 z, f32 w) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x), "f"(y), "f"(z), "f"(w)
               : "memory");
}

// Data Movement and Conversion Instructions: ld.acquire, sm_80. Device scope.
FOVEA_INLINE u32 ld_acquire_gpu(const u32* p) {
  u32 d;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(d) : "l"(p) : "memory");
  return d;
}

// Data Movement and Conversion Instructions: st.release, sm_80. Device scope.
FOVEA_INLINE void st_release_gpu(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

}  // namespace fovea::isa
