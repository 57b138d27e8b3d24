// Tensor maps of the model: 128 bytes in an encoding of its own, made and checked here by the rules that the driver
// applies in cuTensorMapEncodeTiled.
#pragma once

#include <string>

#include "base/types.h"

namespace fovea::model {

enum class MapType : u8 { u8, u16, u32, i32, u64, i64, f16, f32, bf16 };
enum class MapSwizzle : u8 { none, bytes_32, bytes_64, bytes_128 };
enum class OobFill : u8 { zeros, nan };

// A tiled map without interleave and with element strides of one. Dimension 0 is contiguous; stride[i] is the byte step
// of dimension i + 1.
struct TiledMap {
  MapType type = MapType::bf16;
  u32 rank = 2;
  const void* base = nullptr;
  u64 dim[5] = {1, 1, 1, 1, 1};
  u64 stride[4] = {0, 0, 0, 0};
  u32 box[5] = {1, 1, 1, 1, 1};
  MapSwizzle swizzle = MapSwizzle::none;
  OobFill fill = OobFill::zeros;

  u32 element_bytes() const;
  u32 box_bytes() const;   // what a load adds to complete_tx
  u32 span_bytes() const;  // of the swizzle; 16 without
};

// Empty, or why the driver would refuse.
std::string encode_tiled(TensorMap* out, const TiledMap& map);

// False for 128 bytes that encode_tiled did not make.
bool decode_tiled(const TensorMap& map, TiledMap* out);

// Shared-memory byte address of the linear address `a` under a swizzle pattern (PTX ISA, "Swizzling modes").
constexpr u32 swizzled(u32 a, MapSwizzle mode, u32 base_offset = 0) {
  const u32 line = (a >> 7U) - base_offset;
  switch (mode) {
    case MapSwizzle::none:
      return a;
    case MapSwizzle::bytes_32:
      return a ^ ((line & 1U) << 4U);
    case MapSwizzle::bytes_64:
      return a ^ ((line & 3U) << 4U);
    case MapSwizzle::bytes_128:
      return a ^ ((line & 7U) << 4U);
  }
  return a;
}

}  // namespace fovea::model
