// Workspace: scratch memory that a Context keeps between calls, so that a warm call allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fovea {

class Workspace {
 public:
  // At least `bytes` of 64-byte-aligned memory; null when the system has none. Grows, never shrinks. Contents are
  // whatever the last user left.
  void* reserve(std::uint64_t bytes);
  std::uint64_t bytes() const { return capacity_; }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Free> memory_;
  std::uint64_t capacity_ = 0;
};

}  // namespace fovea
