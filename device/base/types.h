// Integers of fixed width, a fixed-size array and the vector types of memory instructions, for kernels, host and model.
// Freestanding: NVRTC reads it without any standard header. Number formats live in numbers.h.
#pragma once

#include "base/numbers.h"

namespace fovea {

using u8 = unsigned char;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;
static_assert(sizeof(u8) == 1 && sizeof(u64) == 8 && sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(f32) == 4);

inline constexpr f32 kMinusInfinity = f32_from_bits(0xff800000U);
inline constexpr f32 kQuietNaN = f32_from_bits(0x7fc00000U);

// N values of one type: a vector of registers. An aggregate; index it with compile-time constants in kernels.
template <class T, int N>
struct Array {
  static constexpr int kSize = N;
  T v[N];

  constexpr T& operator[](int i) { return v[i]; }
  constexpr const T& operator[](int i) const { return v[i]; }
  constexpr bool operator==(const Array&) const = default;
};

// What one 8-byte or 16-byte memory instruction moves.
struct alignas(8) U32x2 {
  u32 x, y;
  constexpr bool operator==(const U32x2&) const = default;
};
struct alignas(16) U32x4 {
  u32 x, y, z, w;
  constexpr bool operator==(const U32x4&) const = default;
};

// A byte address in shared memory: .shared::cta, or .shared::cluster after mapa. A type of its own, so that it cannot
// be mixed up with a length, an index or a global pointer.
struct SmemPtr {
  u32 address;
  constexpr SmemPtr operator+(u32 bytes) const { return {address + bytes}; }
  constexpr bool operator==(const SmemPtr&) const = default;
};

inline u64 address_of(const void* p) { return reinterpret_cast<u64>(p); }

// A CUtensorMap: opaque, 128 bytes, 64-byte aligned (CUDA driver API, cuTensorMapEncodeTiled).
struct alignas(64) TensorMap {
  u64 word[16];
};
static_assert(sizeof(TensorMap) == 128);

template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
constexpr i32 round_up(i32 a, i32 b) { return ceil_div(a, b) * b; }
constexpr i32 min(i32 a, i32 b) { return a < b ? a : b; }
constexpr i32 max(i32 a, i32 b) { return a < b ? b : a; }

}  // namespace fovea
