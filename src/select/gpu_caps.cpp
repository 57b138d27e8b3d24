// Limits of architectures by number, as NVIDIA's manuals give them.
#include "select/gpu_caps.h"

#include "core/text.h"

namespace fovea {

GpuCaps architecture_caps(int sm) {
  // CUDA C++ programming guide, technical specifications per compute capability: shared memory per block, opted in.
  const std::int64_t smem_kb = sm == 80 || sm == 87 ? 163 : (sm == 90 || sm == 100 || sm == 103 ? 227 : 99);
  return {.present = true, .reason = {}, .name = cat("sm_", sm), .sm = sm, .num_sms = 1, .smem_bytes = smem_kb << 10};
}

}  // namespace fovea
