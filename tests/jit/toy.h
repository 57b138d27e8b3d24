// A toy kernel with a spec, a digest and a shared-memory plan, in a bundle of its own: what the run-time compilation
// needs of the real kernels, without them.
#pragma once

#include <string>

#include "core/config.h"
#include "jit/bundle.h"
#include "jit/files.h"
#include "jit/kernel_source.h"

namespace fovea::testing {

// `salt` goes into the kernel's header: another salt is another bundle.
Bundle toy_bundle(const std::string& salt = "");

// The toy kernel writes `factor` times its index into a buffer of floats.
KernelSource toy_source(int factor);

// Settings that find NVRTC in the environment or in the project's .venv, and keep kernels in `cache_dir`.
Config toy_config(const std::string& cache_dir);

// Ends a test as skipped where there is no NVRTC.
#define FOVEA_NEED_NVRTC(jit) \
  if (const auto nvrtc = (jit).nvrtc(); !nvrtc.ok()) GTEST_SKIP() << to_string(nvrtc.error())

}  // namespace fovea::testing
