#include "core/workspace.h"

#include <cstdlib>

namespace fovea {

void Workspace::Free::operator()(void* p) const { std::free(p); }

void* Workspace::reserve(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  if (bytes <= capacity_) return memory_.get();
  const std::uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes) return nullptr;
  memory_.reset();  // before the new allocation, so that the peak is the larger of the two, not their sum
  capacity_ = 0;
  memory_.reset(std::aligned_alloc(kAlignment, rounded));
  if (memory_ != nullptr) capacity_ = rounded;
  return memory_.get();
}

}  // namespace fovea
