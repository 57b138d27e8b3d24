// GpuState: what a Context needs for GPU kernels: the driver and its devices, opened at the first call that concerns
// them, the run-time compiler and the loaded kernels.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/cuda/device.h"
#include "backend/cuda/forward.h"
#include "backend/cuda/kernels.h"
#include "backend/model/module.h"
#include "core/config.h"
#include "jit/jit.h"
#include "select/select.h"

namespace fovea {

class GpuState {
 public:
  explicit GpuState(const Config& config) : config_(config) {}

  // The device of that ordinal as supports() sees it: absent, with the reason, when it cannot be used.
  const GpuCaps& caps(int ordinal);
  // Null unless caps(ordinal).present.
  cuda::Device* device(int ordinal);
  cuda::Kernels& kernels();
  cuda::Scratch& scratch();
  model::Modules& modules();
  Jit& jit();

 private:
  void open();

  const Config config_;
  std::once_flag opened_;
  std::optional<cuda::Driver> driver_;
  std::vector<std::unique_ptr<cuda::Device>> devices_;
  std::vector<GpuCaps> caps_;
  GpuCaps absent_;
  std::optional<Jit> jit_;
  std::optional<cuda::Kernels> kernels_;
  std::optional<cuda::Scratch> scratch_;
  std::optional<model::Modules> modules_;
};

}  // namespace fovea
