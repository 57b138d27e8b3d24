// Matrix descriptors of wgmma (PTX ISA, "Matrix Descriptor Format", "Shared Memory Matrix Layout"): where the elements
// of an operand tile lie in shared memory.
#pragma once

#include "model/tensor_map.h"

namespace fovea::model {

struct MatrixDescriptor {
  u32 start = 0, lbo = 0, sbo = 0, base_offset = 0;  // bytes; base_offset in units of 128
  MapSwizzle swizzle = MapSwizzle::none;
  bool reserved_bits = false;  // some that have to be zero are not

  static MatrixDescriptor decode(u64 bits) {
    MatrixDescriptor d;
    d.start = static_cast<u32>(bits & 0x3fffU) << 4U;
    d.lbo = static_cast<u32>(bits >> 16U & 0x3fffU) << 4U;
    d.sbo = static_cast<u32>(bits >> 32U & 0x3fffU) << 4U;
    d.base_offset = static_cast<u32>(bits >> 49U & 7U);
    constexpr MapSwizzle kModes[] = {MapSwizzle::none, MapSwizzle::bytes_128, MapSwizzle::bytes_64,
                                     MapSwizzle::bytes_32};
    d.swizzle = kModes[bits >> 62U];
    d.reserved_bits = (bits & 0x3ff1c000c000c000ULL) != 0;
    return d;
  }

  // Byte address of element (mn, k) of `bytes` each. mn_major: elements that are neighbours in mn lie together.
  u32 address(u32 mn, u32 k, u32 bytes, bool mn_major) const {
    const u32 w = swizzle == MapSwizzle::none ? 16U : 16U << static_cast<u32>(swizzle);
    u32 linear = start;
    if (!mn_major) {
      const u32 b = k * bytes;
      linear += (mn % 8) * w + (mn / 8) * sbo;
      linear += swizzle == MapSwizzle::none ? (b / 16) * lbo + b % 16 : b;
    } else {
      const u32 b = mn * bytes;
      const bool none = swizzle == MapSwizzle::none;
      linear += b % w + (b / w) * (none ? sbo : lbo) + (k % 8) * w + (k / 8) * (none ? lbo : sbo);
    }
    return swizzled(linear, swizzle, base_offset);
  }
};

}  // namespace fovea::model
