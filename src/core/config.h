// Config: every setting that comes from the environment. The only reader of environment variables in the library;
// read once, when a Context is made.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/tile_request.h"

namespace fovea {

inline constexpr int kMaxThreads = 1024;

struct Config {
  int num_threads = 0;       // FOVEA_NUM_THREADS: 1..1024; 0 = all cores of the process
  bool disable_amx = false;  // FOVEA_DISABLE_AMX=1: bf16 goes through the fp32 kernel
  bool quiet = false;        // FOVEA_LOG=quiet: no progress lines on stderr; FOVEA_LOG=info is the default
  TileRequest tile;          // FOVEA_TILE: tiles of GPU kernels instead of the tuned ones, "tile_m=192,stages=4"

  // Run-time compilation. Compiled kernels are kept in FOVEA_CACHE_DIR, else in fovea/ below XDG_CACHE_HOME or
  // HOME/.cache; empty when none of these is set, and then they live in memory only.
  std::string cache_dir;
  std::string nvrtc;                         // FOVEA_NVRTC: path of libnvrtc; empty = search
  std::vector<std::string> python_prefixes;  // VIRTUAL_ENV, CONDA_PREFIX: where NVIDIA's wheels may be
  std::vector<std::string> cuda_homes;       // CUDA_PATH, CUDA_HOME, in this order
  std::string host_compiler;                 // CXX: compiles kernels for the model; empty = search
};

// A malformed value is an Error that names the variable, never ignored.
Result<Config> read_config();

}  // namespace fovea
