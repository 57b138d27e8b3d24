// What this machine's CPU offers to the cpu backend. Detected once per Context, then passed by value as Caps.
#pragma once

#include <cstdint>
#include <string>

namespace fovea {

struct CpuFeatures {
  std::string model;           // "Intel(R) Xeon(R) Processor", or "unknown"
  std::string simd_target;     // Highway target in use: "AVX3", "AVX2", "SSE4", "NEON", "EMU128", ...
  std::string simd_targets;    // all targets compiled in and supported here, best first
  bool amx_bf16 = false;       // AMX-BF16 usable: CPU, kernel permission and build
  std::string amx_reason;      // why not, when amx_bf16 is false; empty otherwise
  int cores = 1;               // CPUs this process may run on
  std::int64_t l1d_bytes = 0;  // 0 = unknown
  std::int64_t l2_bytes = 0;
};

CpuFeatures detect_cpu_features();

}  // namespace fovea
