// Encoding of tensor maps, with the limits of cuTensorMapEncodeTiled (CUDA driver API).
#include "model/tensor_map.h"

#include "model/runtime/text.h"

namespace fovea::model {

namespace {
constexpr u64 kMagic = 0x666f7665614d6170ULL;

u64 checksum(const TensorMap& map) {
  u64 hash = 0xcbf29ce484222325ULL;
  for (int i = 0; i < 15; ++i) hash = (hash ^ map.word[i]) * 0x100000001b3ULL;
  return hash;
}

std::string dimension_problem(const TiledMap& map) {
  for (u32 i = 0; i < map.rank; ++i) {
    if (map.dim[i] == 0 || map.dim[i] > (1ULL << 32U)) return format("globalDim[%u] = %llu: 1 to 2^32", i, map.dim[i]);
    if (map.box[i] == 0 || map.box[i] > 256) return format("boxDim[%u] = %u: 1 to 256", i, map.box[i]);
    if (i == 0) continue;
    const u64 stride = map.stride[i - 1];
    if (stride % 16 != 0 || stride >= (1ULL << 40U)) {
      return format("globalStrides[%u] = %llu: a multiple of 16 below 2^40 is needed", i - 1, stride);
    }
  }
  return {};
}
}  // namespace

u32 TiledMap::element_bytes() const {
  switch (type) {
    case MapType::u8:
      return 1;
    case MapType::u16:
    case MapType::f16:
    case MapType::bf16:
      return 2;
    case MapType::u32:
    case MapType::i32:
    case MapType::f32:
      return 4;
    case MapType::u64:
    case MapType::i64:
      return 8;
  }
  return 0;
}

u32 TiledMap::box_bytes() const {
  u32 bytes = element_bytes();
  for (u32 i = 0; i < rank; ++i) bytes *= box[i];
  return bytes;
}

u32 TiledMap::span_bytes() const { return 16U << static_cast<u32>(swizzle); }

std::string encode_tiled(TensorMap* out, const TiledMap& map) {
  if (reinterpret_cast<u64>(out) % 64 != 0) return "the map is not 64-byte aligned";
  if (map.rank < 1 || map.rank > 5) return format("rank %u: 1 to 5", map.rank);
  if (map.base == nullptr || reinterpret_cast<u64>(map.base) % 16 != 0) return "globalAddress is not 16-byte aligned";
  const std::string problem = dimension_problem(map);
  if (!problem.empty()) return problem;
  const u32 inner = map.box[0] * map.element_bytes();
  if (inner % 16 != 0) return format("boxDim[0] is %u bytes, not a multiple of 16", inner);
  if (map.swizzle != MapSwizzle::none && inner > map.span_bytes()) {
    return format("boxDim[0] is %u bytes; the swizzle spans %u", inner, map.span_bytes());
  }
  const bool is_float = map.type == MapType::f16 || map.type == MapType::f32 || map.type == MapType::bf16;
  if (map.fill == OobFill::nan && !is_float) return "NaN fill needs a floating point type";
  *out = {};
  out->word[0] = kMagic;
  out->word[1] = static_cast<u64>(map.type) | static_cast<u64>(map.rank) << 8U | static_cast<u64>(map.swizzle) << 16U |
                 static_cast<u64>(map.fill) << 24U;
  out->word[2] = reinterpret_cast<u64>(map.base);
  for (int i = 0; i < 5; ++i) {
    out->word[3 + i] = map.dim[i];
    out->word[12] |= static_cast<u64>(map.box[i]) << (12 * i);
    if (i < 4) out->word[8 + i] = map.stride[i];
  }
  out->word[15] = checksum(*out);
  return {};
}

bool decode_tiled(const TensorMap& map, TiledMap* out) {
  if (map.word[0] != kMagic || map.word[15] != checksum(map)) return false;
  out->type = static_cast<MapType>(map.word[1] & 0xffU);
  out->rank = static_cast<u32>(map.word[1] >> 8U & 0xffU);
  out->swizzle = static_cast<MapSwizzle>(map.word[1] >> 16U & 0xffU);
  out->fill = static_cast<OobFill>(map.word[1] >> 24U & 0xffU);
  out->base = reinterpret_cast<const void*>(map.word[2]);
  for (int i = 0; i < 5; ++i) {
    out->dim[i] = map.word[3 + i];
    out->box[i] = static_cast<u32>(map.word[12] >> (12 * i) & 0xfffU);
    if (i < 4) out->stride[i] = map.word[8 + i];
  }
  return true;
}

}  // namespace fovea::model
