// Placement: where the elements of a tensor lie for each kind of strides. Pure arithmetic; no memory here.
#pragma once

#include <cstdint>

#include "cases/case.h"

namespace fovea::cases {

// Outer (batch or page; 1 for varlen), row, head, element.
struct Extents {
  std::int64_t outer = 1, rows = 1, heads = 1, dim = 1;
  bool empty() const { return outer == 0 || rows == 0 || heads == 0 || dim == 0; }
};

struct Placement {
  std::int64_t outer = 0, row = 0, head = 0, element = 1;  // strides, in elements
  std::int64_t base = 0;                                   // of element (0, 0, 0, 0)
  std::int64_t storage = 0;                                // elements of storage, ending with the last one used
  std::int64_t at(std::int64_t o, std::int64_t s, std::int64_t h, std::int64_t d) const {
    return base + o * outer + s * row + h * head + d * element;
  }
};

// `strides` as in case.h; qkv is placed by fused() and is packed rows here.
Placement place(Strides strides, const Extents& extents);

// Part of a fused row: rows of `row_elements`, this part beginning at `begin`.
Placement fused(const Extents& extents, std::int64_t row_elements, std::int64_t begin);

}  // namespace fovea::cases
