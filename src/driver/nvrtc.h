// Nvrtc: NVIDIA's run-time compiler, found and opened at run time. What is compiled, and how, is src/jit's business.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "driver/nvrtc_functions.h"
#include "driver/shared_library.h"

namespace fovea::nvrtc {

struct Nvrtc {
#define FOVEA_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  FOVEA_NVRTC_FUNCTIONS(FOVEA_DECLARE)
#undef FOVEA_DECLARE
  SharedLibrary library;
  std::string path;      // the file it came from
  std::string builtins;  // libnvrtc-builtins that was opened beside it; empty when none is there
  int major = 0, minor = 0;

  std::string version() const;  // "13.0"
};

// One place to look at, in the order of the search.
struct Candidate {
  enum class Kind { file, loaded, loader };
  Kind kind = Kind::file;
  std::string name;    // a path, or a bare library name
  std::string origin;  // "FOVEA_NVRTC", "wheel below VIRTUAL_ENV", ...
};

// Where NVRTC may be: FOVEA_NVRTC alone when it is set. Else what the process has loaded, NVIDIA's wheels below the
// Python prefixes, the prefixes' own lib (conda), CUDA_PATH and CUDA_HOME, /usr/local/cuda, and the system's loader.
std::vector<Candidate> nvrtc_candidates(const Config& config);

// Opens the first candidate that is usable: version 12.8 or later, and no newer than `max_major` (0 = any), for a cubin
// runs on drivers of its own major version or a later one. The Error lists what was tried and why it did not serve.
Result<Nvrtc> load_nvrtc(const std::vector<Candidate>& candidates, int max_major);

}  // namespace fovea::nvrtc
