// ldst.h and atomic.h. Atomics meet in one word per CTA; what they return is summed, because their order is open.
#pragma once

#include "slice.h"

namespace fovea::conformance {

// Eight words per thread through every width, global to shared to global. Output: 24 words per thread.
FOVEA_ENTRY(32, 1) load_store(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 8);
  u32* y = thread_slice(out, 24);
  const SmemPtr s{isa::smem_base() + 32 * isa::tid_x()};
  isa::st_shared(s, isa::ld_global<U32x4>(x));
  isa::st_shared(s + 16, isa::ld_global_nc<U32x4>(x + 4));
  isa::st_global(y, isa::ld_shared<U32x4>(s + 16));
  isa::st_global(y + 4, isa::ld_shared<U32x4>(s));
  isa::st_shared(s, isa::ld_global_nc<U32x2>(x));
  isa::st_shared(s + 8, isa::ld_global<u64>(x + 6));
  isa::st_global(y + 8, isa::ld_shared<u64>(s));
  isa::st_global(y + 10, isa::ld_shared<U32x2>(s + 8));
  isa::st_global(y + 12, isa::ld_global<U32x2>(x + 2));
  isa::st_global(y + 14, isa::ld_global_nc<u64>(x + 2));
  isa::st_shared(s + 4, isa::ld_global<f32>(x + 3));
  isa::st_global(y + 16, isa::ld_shared<f32>(s + 4));
  isa::st_global(y + 17, isa::ld_global_nc<f32>(x + 5));
  isa::st_global(y + 18, isa::ld_global_nc<u32>(x + 1));
  isa::st_shared(s + 2, isa::ld_global_nc<u16>(x));
  isa::st_shared(s + 5, isa::ld_global_nc<u8>(x));
  const u8* bytes = reinterpret_cast<const u8*>(x);
  isa::st_shared(s + 6, isa::ld_global<u16>(bytes + 2));
  isa::st_shared(s + 4, isa::ld_global<u8>(bytes + 7));
  isa::st_global(y + 19, isa::ld_shared<u32>(s));
  isa::st_global(y + 20, isa::ld_shared<u32>(s + 4));
  isa::st_global<u32>(y + 21, isa::ld_shared<u16>(s + 2));
  isa::st_global<u32>(y + 22, isa::ld_shared<u8>(s + 5));
  isa::st_global<u32>(y + 23, 0);
  u8* target = reinterpret_cast<u8*>(y + 23);
  isa::st_global(target + 2, isa::ld_shared<u16>(s + 2));
  isa::st_global(target + 1, isa::ld_shared<u8>(s + 4));
}

// Word 0: sum. 1: wrapped count. 2: sum of what the adds returned. 3: what the increments returned. 4: fp32 sum of
// small integers. 5: release seen by acquire. 8..: one word per thread, then two and four, added to by one thread each.
FOVEA_ENTRY(128, 1) atomics(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 4);
  u32* y = cta_slice(out, 8 + 128 * 8);
  const u32 t = isa::tid_x();
  isa::atom_add_global(y + 2, isa::atom_add_global(y, 1));
  isa::atom_add_global(y + 3, isa::atom_inc_global(y + 1, 9));
  isa::red_add_global(reinterpret_cast<f32*>(y + 4), static_cast<f32>(t % 7));
  if (t == 0) {
    isa::st_release_gpu(y + 5, word(x, 0));
    isa::st_release_gpu(y + 6, isa::ld_acquire_gpu(y + 5) + 1);
  }
  f32* own = reinterpret_cast<f32*>(y + 8 + 8 * t);
  isa::red_add_global(own, real(x, 0));
  isa::red_add_global(own, real(x, 1));
  isa::red_add_global_v2(own + 2, real(x, 2), real(x, 3));
  isa::red_add_global_v4(own + 4, real(x, 0), real(x, 1), real(x, 2), real(x, 3));
}

}  // namespace fovea::conformance
