// Scalar and vector loads and stores, and the few atomics that kernels need. T is u8, u16, u32, u64, f32, U32x2 or
// U32x4; an address is a multiple of sizeof(T). Copies without registers are in cp_async.h and tma.h.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

// What one load or store instruction can move.
template <class T>
concept MemoryWord = kSame<T, u8> || kSame<T, u16> || kSame<T, u32> || kSame<T, u64> || kSame<T, f32> ||
    kSame<T, U32x2> || kSame<T, U32x4>;

// Data Movement and Conversion Instructions: ld, sm_80. Weak.
template <MemoryWord T>
FOVEA_INLINE T ld_global(const void* p) {
  T d;
  if constexpr (kSame<T, u8>) {
    u16 wide;  // a .u8 load needs a 16-bit register
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(wide) : "l"(p));
    d = static_cast<u8>(wide);
  } else if constexpr (kSame<T, u16>) {
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(d) : "l"(p));
  } else if constexpr (kSame<T, u32>) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(d) : "l"(p));
  } else if constexpr (kSame<T, u64>) {
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(d) : "l"(p));
  } else if constexpr (kSame<T, f32>) {
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(d) : "l"(p));
  } else if constexpr (kSame<T, U32x2>) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(d.x), "=r"(d.y) : "l"(p));
  } else {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(p));
  }
  return d;
}

// Data Movement and Conversion Instructions: ld.global.nc, sm_80. For memory that no thread of the grid writes.
template <MemoryWord T>
FOVEA_INLINE T ld_global_nc(const void* p) {
  T d;
  if constexpr (kSame<T, u8>) {
    u16 wide;
    asm volatile("ld.global.nc.u8 %0, [%1];" : "=h"(wide) : "l"(p));
    d = static_cast<u8>(wide);
  } else if constexpr (kSame<T, u16>) {
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(d) : "l"(p));
  } else if constexpr (kSame<T, u32>) {
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(d) : "l"(p));
  } else if constexpr (kSame<T, u64>) {
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(d) : "l"(p));
  } else if constexpr (kSame<T, f32>) {
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(d) : "l"(p));
  } else if constexpr (kSame<T, U32x2>) {
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(d.x), "=r"(d.y) : "l"(p));
  } else {
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w) : "l"(p));
  }
  return d;
}

// Data Movement and Conversion Instructions: st, sm_80. Weak.
template <MemoryWord T>
FOVEA_INLINE void st_global(void* p, T v) {
  if constexpr (kSame<T, u8>) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(p), "h"(static_cast<u16>(v)) : "memory");
  } else if constexpr (kSame<T, u16>) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"(v) : "memory");
  } else if constexpr (kSame<T, u32>) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
  } else if constexpr (kSame<T, u64>) {
    asm volatile("st.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
  } else if constexpr (kSame<T, f32>) {
    asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
  } else if constexpr (kSame<T, U32x2>) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
  } else {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }
}

// Data Movement and Conversion Instructions: ld, sm_80. Weak.
template <MemoryWord T>
FOVEA_INLINE T ld_shared(SmemPtr p) {
  T d;
  if constexpr (kSame<T, u8>) {
    u16 wide;
    asm volatile("ld.shared::cta.u8 %0, [%1];" : "=h"(wide) : "r"(p.address));
    d = static_cast<u8>(wide);
  } else if constexpr (kSame<T, u16>) {
    asm volatile("ld.shared::cta.u16 %0, [%1];" : "=h"(d) : "r"(p.address));
  } else if constexpr (kSame<T, u32>) {
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(d) : "r"(p.address));
  } else if constexpr (kSame<T, u64>) {
    asm volatile("ld.shared::cta.u64 %0, [%1];" : "=l"(d) : "r"(p.address));
  } else if constexpr (kSame<T, f32>) {
    asm volatile("ld.shared::cta.f32 %0, [%1];" : "=f"(d) : "r"(p.address));
  } else if constexpr (kSame<T, U32x2>) {
    asm volatile("ld.shared::cta.v2.u32 {%0, %1}, [%2];" : "=r"(d.x), "=r"(d.y) : "r"(p.address));
  } else {
    asm volatile("ld.shared::cta.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
                 : "r"(p.address));
  }
  return d;
}

// Data Movement and Conversion Instructions: st, sm_80. Weak.
template <MemoryWord T>
FOVEA_INLINE void st_shared(SmemPtr p, T v) {
  if constexpr (kSame<T, u8>) {
    asm volatile("st.shared::cta.u8 [%0], %1;" ::"r"(p.address), "h"(static_cast<u16>(v)) : "memory");
  } else if constexpr (kSame<T, u16>) {
    asm volatile("st.shared::cta.u16 [%0], %1;" ::"r"(p.address), "h"(v) : "memory");
  } else if constexpr (kSame<T, u32>) {
    asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(p.address), "r"(v) : "memory");
  } else if constexpr (kSame<T, u64>) {
    asm volatile("st.shared::cta.u64 [%0], %1;" ::"r"(p.address), "l"(v) : "memory");
  } else if constexpr (kSame<T, f32>) {
    asm volatile("st.shared::cta.f32 [%0], %1;" ::"r"(p.address), "f"(v) : "memory");
  } else if constexpr (kSame<T, U32x2>) {
    asm volatile("st.shared::cta.v2.u32 [%0], {%1, %2};" ::"r"(p.address), "r"(v.x), "r"(v.y) : "memory");
  } else {
    asm volatile("st.shared::cta.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(p.address), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
  }
}

}  // namespace fovea::isa
