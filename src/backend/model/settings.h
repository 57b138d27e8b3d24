// How a call runs on the functional GPU model, and what becomes of a fault.
#pragma once

#include <string_view>

#include "core/error.h"
#include "jit/kernel_source.h"
#include "model/launch.h"

namespace fovea::model {

struct Settings {
  int sm = 80;  // architecture: what instructions exist and how much shared memory there is
  u64 seed = 0;
  AsyncLanding landing = AsyncLanding::random;
  Schedule schedule = Schedule::random;
};

LaunchConfig launch_config(const KernelSource& source, std::int64_t grid, const Settings& settings);

// A fault of a kernel as the Error of a call.
Error fault_error(std::string_view kernel, const Settings& settings, const Fault& fault);

}  // namespace fovea::model
