// A CTA's and a thread's part of the input and output of a conformance kernel.
#pragma once

#include "isa/isa.h"

namespace fovea::conformance {

// `words` per thread, in thread order.
template <class T>
FOVEA_INLINE T* thread_slice(T* base, u32 words) {
  return base + (isa::ctaid_x() * isa::ntid_x() + isa::tid_x()) * words;
}
template <class T>
FOVEA_INLINE T* cta_slice(T* base, u32 words) {
  return base + isa::ctaid_x() * words;
}

FOVEA_INLINE u32 word(const u32* in, u32 i) { return isa::ld_global<u32>(in + i); }
FOVEA_INLINE f32 real(const u32* in, u32 i) { return f32_from_bits(word(in, i)); }

// Appends results to a thread's output.
struct Sink {
  u32* next;
  FOVEA_INLINE void put(u32 v) { isa::st_global<u32>(next++, v); }
  FOVEA_INLINE void put(f32 v) { put(f32_bits(v)); }
  FOVEA_INLINE void put(bool v) { put(static_cast<u32>(v)); }
  FOVEA_INLINE void put(u16 v) { put(static_cast<u32>(v)); }
  FOVEA_INLINE void put(u64 v) {
    put(static_cast<u32>(v));
    put(static_cast<u32>(v >> 32U));
  }
};

// Copies `words` from global to shared memory with all threads of the CTA, and waits for all of them.
FOVEA_INLINE void fill_shared(u32 smem, const u32* in, u32 words) {
  for (u32 i = isa::tid_x(); i < words; i += isa::ntid_x()) isa::st_shared<u32>(SmemPtr{smem + 4 * i}, word(in, i));
  isa::syncthreads();
}
FOVEA_INLINE void dump_shared(u32* out, u32 smem, u32 words) {
  isa::syncthreads();
  for (u32 i = isa::tid_x(); i < words; i += isa::ntid_x()) {
    isa::st_global<u32>(out + i, isa::ld_shared<u32>(SmemPtr{smem + 4 * i}));
  }
}

}  // namespace fovea::conformance
