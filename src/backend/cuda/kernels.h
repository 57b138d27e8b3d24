// Kernels: the loaded kernels of a Context, found by spec and device. Finding one takes a lock that nobody holds for
// longer than a look into a table; compiling and loading happen outside of it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "backend/cuda/kernel.h"
#include "jit/jit.h"
#include "jit/once_map.h"

namespace fovea::cuda {

class Kernels {
 public:
  Kernels(const Driver& driver, Jit& jit) : driver_(driver), jit_(jit) {}
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // The warm path: null when the kernel of that name and spec digest is not loaded on the device. What it returns stays
  // valid as long as this table.
  const CudaKernel* find(std::string_view kernel, std::uint64_t digest, int ordinal) const;

  // The cold path: compiles, loads and keeps. While `stream` is being captured a kernel that is not loaded is refused:
  // neither compiling nor loading can be part of a graph.
  Result<const CudaKernel*> get(const KernelSource& source, Device& device, CUstream stream);

 private:
  struct KeyView {
    std::uint64_t digest;
    int ordinal;
    std::string_view kernel;
    auto operator<=>(const KeyView&) const = default;
  };
  struct Key {
    std::uint64_t digest;
    int ordinal;
    std::string kernel;
    operator KeyView() const { return {digest, ordinal, kernel}; }  // NOLINT(google-explicit-constructor)
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const KeyView& a, const KeyView& b) const { return a < b; }
  };

  Result<const CudaKernel*> load(const KernelSource& source, Device& device);

  const Driver& driver_;
  Jit& jit_;
  mutable std::mutex mutex_;
  std::map<Key, CudaKernel, Less> loaded_;
  OnceMap<const CudaKernel*> loading_;
};

}  // namespace fovea::cuda
