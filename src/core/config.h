// Config: every setting that comes from the environment. The only reader of environment variables in the library;
// read once, when a Context is made.
#pragma once

#include <string>

#include "core/error.h"

namespace fovea {

inline constexpr int kMaxThreads = 1024;

struct Config {
  int num_threads = 0;       // FOVEA_NUM_THREADS: 1..1024; 0 = all cores of the process
  bool disable_amx = false;  // FOVEA_DISABLE_AMX=1: bf16 goes through the fp32 kernel
};

// A malformed value is an Error that names the variable, never ignored.
Result<Config> read_config();

}  // namespace fovea
