// Peak resident memory of this process, so that bench can show what a call needed beyond its tensors.
#pragma once

#include <cstdint>
#include <optional>

namespace fovea::cli {

// Resets the kernel's peak counter on construction; peak_growth() is how far the resident set has risen above its size
// then. nullopt where the system does not tell (no /proc).
class PeakMemory {
 public:
  PeakMemory();
  std::optional<std::int64_t> peak_growth() const;

 private:
  std::optional<std::int64_t> before_;
};

}  // namespace fovea::cli
