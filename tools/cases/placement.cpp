// One function per kind of strides; bounded() fits the storage around the elements.
#include "cases/placement.h"

#include <algorithm>
#include <cstdlib>

namespace fovea::cases {
namespace {

// Sets base and storage so that the lowest element lies `lead` elements into the storage and the highest ends it.
Placement bounded(Placement p, const Extents& e, std::int64_t lead) {
  if (e.empty()) return p;
  std::int64_t low = 0;
  std::int64_t high = 0;
  const auto reach = [&](std::int64_t stride, std::int64_t extent) {
    (stride < 0 ? low : high) += stride * (extent - 1);
  };
  reach(p.outer, e.outer);
  reach(p.row, e.rows);
  reach(p.head, e.heads);
  reach(p.element, e.dim);
  p.base = lead - low;
  p.storage = p.base + high + 1;
  return p;
}

Placement packed(const Extents& e, std::int64_t element, std::int64_t head_gap, std::int64_t row_gap) {
  Placement p;
  p.element = element;
  p.head = e.dim * element + head_gap;
  p.row = e.heads * p.head + row_gap;
  p.outer = e.rows * p.row + row_gap;
  return p;
}

}  // namespace

Placement place(Strides strides, const Extents& e) {
  Placement p = packed(e, 1, 0, 0);
  std::int64_t lead = 0;
  switch (strides) {
    case Strides::bshd:
    case Strides::qkv:
      break;
    case Strides::bhsd:
      p.row = e.dim;
      p.head = e.rows * e.dim;
      break;
    case Strides::padded:
      p = packed(e, 1, 3, 5);
      break;
    case Strides::expanded:
      p.head = 0;
      p.row = e.dim;
      p.outer = e.rows * p.row;
      break;
    case Strides::unaligned:
      lead = 1;
      break;
    case Strides::stride_d2:
      p = packed(e, 2, 0, 0);
      break;
    case Strides::reversed:
      p.row = -p.row;
      break;
  }
  return bounded(p, e, lead);
}

Placement fused(const Extents& e, std::int64_t row_elements, std::int64_t begin) {
  Placement p;
  p.head = e.dim;
  p.row = row_elements;
  p.outer = e.rows * row_elements;
  return bounded(p, e, begin);
}

}  // namespace fovea::cases
