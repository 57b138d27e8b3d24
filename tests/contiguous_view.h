// A contiguous view of memory that a test owns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "fovea/fovea.h"

namespace fovea::test {

inline fovea_tensor contiguous_view(void* data, fovea_dtype dtype, std::initializer_list<std::int64_t> shape) {
  fovea_tensor t{};
  t.data = data;
  t.dtype = dtype;
  for (const std::int64_t extent : shape) t.shape[t.rank++] = extent;
  std::int64_t step = 1;
  for (std::int32_t d = t.rank - 1; d >= 0; --d) {
    t.strides[d] = step;
    step *= std::max<std::int64_t>(t.shape[d], 1);
  }
  return t;
}

}  // namespace fovea::test
