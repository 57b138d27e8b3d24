// GpuCaps: what a kernel may count on of one GPU.
#pragma once

#include <cstdint>
#include <string>

namespace fovea {

// A GPU, or the GPU that the model stands for.
struct GpuCaps {
  bool present = false;
  bool model = false;  // the functional model: tensors in CPU memory
  std::string reason;  // why not, when it is not
  std::string name;    // "NVIDIA H100 80GB HBM3", or "model"
  int sm = 0;          // 80, 86, 89, 90, 100, 120
  int num_sms = 0;
  std::int64_t smem_bytes = 0;  // per CTA, opted in
};

// The limits of an architecture that is known by number alone: for the model and for compiling without a GPU.
GpuCaps architecture_caps(int sm);

}  // namespace fovea
