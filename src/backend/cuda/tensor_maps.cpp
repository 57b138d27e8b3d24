// Maps are kept in a table by hash, without chains: a lookup is one comparison.
#include "backend/cuda/tensor_maps.h"

#include <cstdint>

namespace fovea::cuda {
namespace {

std::size_t place(const RowMap& map) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(map.base) >> 4U;
  for (const std::uint64_t dim : map.dim) hash = hash * 0x9e3779b97f4a7c15ULL + dim;
  return static_cast<std::size_t>((hash * 0x9e3779b97f4a7c15ULL) >> 32U) % TensorMaps::kKept;
}

// CUDA driver API, cuTensorMapEncodeTiled. Costs host time only; no context is needed.
CUresult encode(const Driver& driver, const RowMap& map, TensorMap& to) {
  const std::uint32_t box[] = {64, map.box_rows, map.box_queries, 1};
  const std::uint32_t element_strides[] = {1, 1, 1, 1};
  const auto type = map.dtype == FOVEA_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  return driver.cuTensorMapEncodeTiled(&to, type, 4, map.base, map.dim, map.stride_bytes, box, element_strides,
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace

CUresult TensorMaps::fill(const ForwardMaps& maps, FwdWgmmaParams& params) {
  const std::lock_guard lock(mutex_);
  for (const auto& [to, map] : map_places(maps, params)) {
    if (map == nullptr) continue;
    Kept& kept = kept_[place(*map)];
    if (kept.row_map.base == nullptr || !(kept.row_map == *map)) {
      kept.row_map = {};
      const CUresult result = encode(driver_, *map, kept.map);
      if (result != CUDA_SUCCESS) return result;
      kept.row_map = *map;
    }
    *to = kept.map;
  }
  return CUDA_SUCCESS;
}

}  // namespace fovea::cuda
