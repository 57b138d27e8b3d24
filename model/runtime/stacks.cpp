// Stack blocks in one mapping; pages are committed by the host when they are touched.
#include "model/runtime/stacks.h"

#include <sys/mman.h>

#include <new>

namespace fovea::model {

namespace {
constexpr u64 kPage = 4096;
// Tops are staggered: stacks that end at the same address modulo a cache's way would evict each other.
constexpr u64 kColours = 61, kColourBytes = 192;
}  // namespace

Stacks::Stacks(u32 count) : mapped_((u64{count} + 1) * kStackBytes) {
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) return;
  const u64 aligned = (reinterpret_cast<u64>(mapping_) + kStackBytes - 1) & ~(kStackBytes - 1);
  first_ = reinterpret_cast<u8*>(aligned);
  for (u32 i = 0; i < count; ++i) {
    if (mprotect(first_ + i * kStackBytes + kPage, kPage, PROT_NONE) != 0) first_ = nullptr;
    if (first_ == nullptr) return;
  }
}

Stacks::~Stacks() {
  if (mapping_ != MAP_FAILED) munmap(mapping_, mapped_);
}

void* Stacks::top(u32 index, ThreadPort* owner) const {
  u8* block = first_ + index * kStackBytes;
  new (block) ThreadPort*(owner);
  return block + kStackBytes - (index % kColours) * kColourBytes;
}

u64 Stacks::usable_bytes() { return kStackBytes - 2 * kPage - kColours * kColourBytes; }

}  // namespace fovea::model
