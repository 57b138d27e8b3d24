// Linear: a map between index spaces that is linear over F2. Every register fragment, swizzle and ldmatrix pattern of
// the GPU is one: the image of an index is the XOR of the images of its bits. A structural value, so that a layout can
// be a template argument, with composition, inversion and equality evaluated at compile time.
#pragma once

#include "base/types.h"

namespace fovea {

struct Linear {
  static constexpr i32 kMaxBits = 16;
  i32 in_bits = 0;
  i32 out_bits = 0;
  u32 basis[kMaxBits] = {};  // basis[i]: image of input bit i; entries past in_bits are 0

  constexpr bool operator==(const Linear&) const = default;

  constexpr u32 operator()(u32 x) const {
    u32 y = 0;
    for (i32 i = 0; i < in_bits; ++i) {
      if (((x >> i) & 1U) != 0) y ^= basis[i];
    }
    return y;
  }

  // The map that sends every further input bit to `image`.
  constexpr Linear with(u32 image) const {
    Linear next = *this;
    next.basis[next.in_bits++] = image;
    return next;
  }
};

// (outer . inner)(x) = outer(inner(x)).
constexpr Linear compose(const Linear& outer, const Linear& inner) {
  Linear result{.in_bits = inner.in_bits, .out_bits = outer.out_bits, .basis = {}};
  for (i32 i = 0; i < inner.in_bits; ++i) result.basis[i] = outer(inner.basis[i]);
  return result;
}

constexpr Linear identity(i32 bits) {
  Linear result{.in_bits = bits, .out_bits = bits, .basis = {}};
  for (i32 i = 0; i < bits; ++i) result.basis[i] = 1U << i;
  return result;
}

// The inverse of a bijection, by Gauss-Jordan elimination over F2. in_bits = -1 marks a map that has none.
constexpr Linear inverse(const Linear& map) {
  constexpr Linear kNone{.in_bits = -1, .out_bits = 0, .basis = {}};
  if (map.in_bits != map.out_bits) return kNone;
  const i32 n = map.in_bits;
  Linear image = map;           // column i is reduced to a unit vector,
  Linear source = identity(n);  // while the same operations on the identity build the inverse
  for (i32 bit = 0; bit < n; ++bit) {
    i32 pivot = bit;
    while (pivot < n && ((image.basis[pivot] >> bit) & 1U) == 0) ++pivot;
    if (pivot == n) return kNone;
    const u32 image_pivot = image.basis[pivot];
    const u32 source_pivot = source.basis[pivot];
    image.basis[pivot] = image.basis[bit];
    source.basis[pivot] = source.basis[bit];
    image.basis[bit] = image_pivot;
    source.basis[bit] = source_pivot;
    for (i32 i = 0; i < n; ++i) {
      if (i == bit || ((image.basis[i] >> bit) & 1U) == 0) continue;
      image.basis[i] ^= image_pivot;
      source.basis[i] ^= source_pivot;
    }
  }
  return source;
}

constexpr bool is_bijection(const Linear& map) { return inverse(map).in_bits == map.in_bits; }

static_assert(inverse(identity(5)) == identity(5));
static_assert(inverse(Linear{.in_bits = 2, .out_bits = 2, .basis = {3, 2}}) ==
              Linear{.in_bits = 2, .out_bits = 2, .basis = {3, 2}});
static_assert(!is_bijection(Linear{.in_bits = 2, .out_bits = 2, .basis = {1, 1}}));

}  // namespace fovea
