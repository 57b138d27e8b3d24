// Bytes of an element, inline for checks on the way to a launch. fovea_dtype_size() is this for callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea {

// 0 for a number that names no dtype.
constexpr std::size_t element_size(std::int32_t dtype) {
  switch (dtype) {
    case FOVEA_F32:
    case FOVEA_I32:
      return 4;
    case FOVEA_BF16:
    case FOVEA_F16:
      return 2;
    case FOVEA_F64:
      return 8;
    case FOVEA_BOOL:
      return 1;
    default:
      return 0;
  }
}

}  // namespace fovea
