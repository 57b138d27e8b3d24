// The few functions of the CUDA driver that the conformance runner calls, found by dlopen: no toolkit needed to build,
// and a clear message where there is no driver. Signatures as in the driver API reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"
#include "conformance/maps.h"

namespace fovea::conformance {

struct LaunchShape {
  u32 grid = 1, threads = 1, cluster = 1, smem_bytes = 0;
};

// One device context with one module. Throws std::runtime_error with the driver's own name of the error.
class Gpu {
 public:
  explicit Gpu(const void* cubin);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  std::string device_name() const;
  std::uint64_t allocate(std::size_t bytes);  // zeroed; freed with the context
  void upload(std::uint64_t target, const void* source, std::size_t bytes);
  void download(void* target, std::uint64_t source, std::size_t bytes);
  // The map of a tensor of this context's memory at `base`.
  TensorMap encode(const MapSpec& spec, std::uint64_t base) const;
  // Launches and waits.
  void run(const std::string& kernel, const LaunchShape& shape, std::vector<std::uint64_t> arguments);

 private:
  void* context_ = nullptr;
  void* module_ = nullptr;
  int device_ = 0;
};

}  // namespace fovea::conformance
