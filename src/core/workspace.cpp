// Grow-only scratch memory. Large blocks ask the system for huge pages: packed tiles touch many pages at once, and on
// virtual machines a missed address translation is dear.
#include "core/workspace.h"

#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fovea {

void Workspace::Free::operator()(void* p) const { std::free(p); }

void* Workspace::reserve(std::uint64_t bytes) {
  constexpr std::uint64_t kLine = 64;
  constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20U;
  if (bytes <= capacity_) return memory_.get();
  const std::uint64_t unit = bytes >= kHugePage / 4 ? kHugePage : kLine;
  const std::uint64_t rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes) return nullptr;
  memory_.reset();  // before the new allocation, so that the peak is the larger of the two, not their sum
  capacity_ = 0;
  memory_.reset(std::aligned_alloc(unit, rounded));
  if (memory_ == nullptr) return nullptr;
  capacity_ = rounded;
#if defined(__linux__)
  if (unit == kHugePage) static_cast<void>(madvise(memory_.get(), rounded, MADV_HUGEPAGE));  // a wish, not a need
#endif
  return memory_.get();
}

}  // namespace fovea
