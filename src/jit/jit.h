// Jit: from a KernelSource to its binary. Looks into memory, then the disk cache, then compiles. One compilation per
// key and Jit; other threads that want the same kernel wait for it, and nobody else does. A Context owns one Jit.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/config.h"
#include "jit/bundle.h"
#include "jit/bytes.h"
#include "jit/disk_cache.h"
#include "jit/host_compiler.h"
#include "jit/kernel_source.h"
#include "jit/nvrtc_compiler.h"
#include "jit/once_map.h"
#include "jit/target.h"

namespace fovea {

enum class Origin { memory, disk, compiled };
std::string_view name(Origin origin);

struct Artifact {
  std::shared_ptr<const Bytes> bytes;  // a cubin, or a shared object for the model
  Origin origin = Origin::memory;
  double seconds = 0;  // that this call took
};

class Jit {
 public:
  // `max_nvrtc_major`: the driver's CUDA major version, for a cubin runs on no older driver; 0 = there is no driver.
  Jit(const Config& config, int max_nvrtc_major, const Bundle& bundle);

  Result<Artifact> get(const KernelSource& source, const Target& target);

  // PTX for people to read, and what ptxas says about registers, spills and shared memory; nullopt where this NVRTC
  // passes on no word of it. Neither is cached.
  Result<std::string> ptx(const KernelSource& source, const Target& target);
  Result<std::optional<std::string>> resources(const KernelSource& source, const Target& target);

  const DiskCache& cache() const { return cache_; }
  // Found and opened at the first call that needs it.
  Result<nvrtc::Nvrtc> nvrtc();

 private:
  Result<HostCompiler> host_compiler();
  std::string digest(const std::string& text, const Target& target) const;
  Result<Artifact> find_or_compile(const KernelSource& source, const Target& target);
  Result<Artifact> make_cubin(CacheKey key, const std::string& text, const Target& target);
  Result<Artifact> make_object(CacheKey key, const std::string& text);
  Artifact keep(const CacheKey& key, Bytes bytes);
  Result<NvrtcProduct> compile_fresh(const KernelSource& source, const Target& target, NvrtcOutput output);

  Config config_;
  int max_nvrtc_major_;
  Bundle gpu_bundle_;
  Bundle model_bundle_;
  DiskCache cache_;
  OnceMap<Artifact> artifacts_;
  OnceMap<nvrtc::Nvrtc> nvrtc_;
  OnceMap<HostCompiler> host_compiler_;
  std::once_flag told_memory_only_;
};

}  // namespace fovea
