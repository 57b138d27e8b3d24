// Geometry: the lengths, row offsets and pages of a Case. Pure; what the tensors hold and where is materialize's
// business.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/case.h"

namespace fovea::cases {

// Rows [begin, begin + rows) of storage belong to one batch entry; the first `used` of them count.
struct Rows {
  std::int64_t begin = 0, rows = 0, used = 0;
};

struct Geometry {
  std::vector<Rows> q, kv;      // per batch entry; begin is 0 unless varlen
  std::int64_t q_storage = 0;   // rows: dense Sq per entry, varlen in all
  std::int64_t kv_storage = 0;  // likewise; paged: slots of one page
  std::int64_t pages = 0;       // paged: pages in the cache, two of them unused
  std::int64_t table_width = 0;
  std::vector<std::int32_t> page_table;     // [B, table_width]; entries that no key needs are out of range
  std::vector<std::int64_t> shared_prefix;  // per batch entry: keys that are those of entry 0
};

Geometry make_geometry(const Case& c);

}  // namespace fovea::cases
