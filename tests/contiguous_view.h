// A contiguous view of memory that a test owns. Strides past 63 bits, of extents that no memory holds, become the
// largest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

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
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(t.shape[d], 1), &step)) {
      step = std::numeric_limits<std::int64_t>::max();
    }
  }
  return t;
}

}  // namespace fovea::test
