// Launches as the model is configured, and faults as errors.
#include "backend/model/settings.h"

#include "core/text.h"

namespace fovea::model {

LaunchConfig launch_config(const KernelSource& source, std::int64_t grid, const Settings& settings) {
  return {.grid_x = static_cast<u32>(grid),
          .threads = static_cast<u32>(source.threads),
          .smem_bytes = static_cast<u32>(source.smem_bytes),
          .sm = settings.sm,
          .seed = settings.seed,
          .landing = settings.landing,
          .schedule = settings.schedule};
}

Error fault_error(std::string_view kernel, const Settings& settings, const Fault& fault) {
  return {.status = FOVEA_INTERNAL,
          .asked = cat(kernel, " on the model of sm_", settings.sm, ", seed ", settings.seed),
          .allowed = "a kernel without faults",
          .why = cat(to_string(fault.code), ": ", fault.text),
          .hint = "this is a fault of the kernel: please report this message"};
}

}  // namespace fovea::model
