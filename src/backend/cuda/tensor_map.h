// Encodes a RowMap for the GPU (CUDA driver API, cuTensorMapEncodeTiled). Costs host time only; no context is needed.
#pragma once

#include "device/base/types.h"
#include "driver/driver.h"
#include "plan/tensor_maps.h"

namespace fovea::cuda {

inline CUresult encode(const Driver& driver, const RowMap& map, TensorMap& to) {
  const std::uint32_t box[] = {64, map.box_rows, 1, 1};
  const std::uint32_t element_strides[] = {1, 1, 1, 1};
  const auto type = map.dtype == FOVEA_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  return driver.cuTensorMapEncodeTiled(&to, type, 4, map.base, map.dim, map.stride_bytes, box, element_strides,
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace fovea::cuda
