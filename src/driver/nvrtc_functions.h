// The one list of NVRTC functions: FOVEA_NVRTC_FUNCTIONS(X) calls X(name, type) for each. Types as in the NVRTC manual.
#pragma once

#include <cstddef>

namespace fovea::nvrtc {

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
};
using nvrtcProgram = struct _nvrtcProgram*;

}  // namespace fovea::nvrtc

// clang-format off
#define FOVEA_NVRTC_FUNCTIONS(X)                                                                                 \
  X(nvrtcVersion, nvrtcResult(int* major, int* minor))                                                           \
  X(nvrtcGetErrorString, const char*(nvrtcResult result))                                                        \
  X(nvrtcGetNumSupportedArchs, nvrtcResult(int* count))                                                          \
  X(nvrtcGetSupportedArchs, nvrtcResult(int* archs))                                                             \
  X(nvrtcCreateProgram, nvrtcResult(nvrtcProgram* program, const char* source, const char* name, int num_headers, \
                                    const char* const* headers, const char* const* include_names))               \
  X(nvrtcDestroyProgram, nvrtcResult(nvrtcProgram* program))                                                     \
  X(nvrtcCompileProgram, nvrtcResult(nvrtcProgram program, int num_options, const char* const* options))         \
  X(nvrtcGetCUBINSize, nvrtcResult(nvrtcProgram program, std::size_t* size))                                     \
  X(nvrtcGetCUBIN, nvrtcResult(nvrtcProgram program, char* cubin))                                               \
  X(nvrtcGetPTXSize, nvrtcResult(nvrtcProgram program, std::size_t* size))                                       \
  X(nvrtcGetPTX, nvrtcResult(nvrtcProgram program, char* ptx))                                                   \
  X(nvrtcGetProgramLogSize, nvrtcResult(nvrtcProgram program, std::size_t* size))                                \
  X(nvrtcGetProgramLog, nvrtcResult(nvrtcProgram program, char* log))
// clang-format on
