// The global memory that a launch may touch: named regions, and the check of one access against them.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "model/launch.h"

namespace fovea::model {

class GlobalMemory {
 public:
  explicit GlobalMemory(std::span<const Region> regions) : regions_(regions.begin(), regions.end()) {
    std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.base < b.base; });
  }

  // The region that holds all of [address, address + bytes), or null.
  const Region* find(const void* address, u64 bytes) {
    if (last_ != nullptr && contains(*last_, address, bytes)) return last_;
    for (const Region& region : regions_) {
      if (contains(region, address, bytes)) return last_ = &region;
    }
    return nullptr;
  }

  // "64 bytes after the end of k (256 bytes)": where an address outside stands.
  std::string describe(const void* address, u64 bytes) const;

 private:
  static u64 begin(const Region& region) { return reinterpret_cast<u64>(region.base); }
  static bool contains(const Region& region, const void* address, u64 bytes) {
    const u64 a = reinterpret_cast<u64>(address);
    return a >= begin(region) && bytes <= region.bytes && a - begin(region) <= region.bytes - bytes;
  }

  std::vector<Region> regions_;
  const Region* last_ = nullptr;
};

}  // namespace fovea::model
