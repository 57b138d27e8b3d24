// What the tensor maps of fwd_wgmma say, as values; each backend encodes them for its own executor.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "device/spec/fwd_wgmma_params.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea {

// A map of 16-bit elements with 128-byte swizzle: dimensions (d, s, h, b), boxes of 64 columns and box_rows rows. Of
// paged k and v, b counts pages and s the slots of one. Rows::group: dimensions (d, h, s, b), boxes of box_rows heads
// and box_queries queries.
struct RowMap {
  void* base = nullptr;
  fovea_dtype dtype = FOVEA_BF16;
  std::uint64_t dim[4] = {};
  std::uint64_t stride_bytes[3] = {};  // of all dimensions but d
  std::uint32_t box_rows = 0;
  std::uint32_t box_queries = 1;

  bool operator==(const RowMap&) const = default;
};

struct ForwardMaps {
  RowMap q, k, v, out;
  std::optional<RowMap> bias;  // dimensions (key, query, h, b)
};
ForwardMaps forward_maps(const Plan& plan, const ForwardOperands& operands);

// Where the kernel's parameters take a map.
struct MapPlace {
  TensorMap* to;
  const RowMap* map;  // null: the call has none
};
inline std::array<MapPlace, 5> map_places(const ForwardMaps& maps, FwdWgmmaParams& params) {
  return {{{&params.q, &maps.q},
           {&params.k, &maps.k},
           {&params.v, &maps.v},
           {&params.out, &maps.out},
           {&params.bias, maps.bias ? &*maps.bias : nullptr}}};
}

}  // namespace fovea
