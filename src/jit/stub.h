// The stub: the five lines of C++ that make a translation unit of a kernel and a spec. Whoever compiles it, the host's
// numbers stand in it as assertions, so that a host and a device that disagree do not compile.
#pragma once

#include <string>

#include "jit/kernel_source.h"
#include "jit/target.h"

namespace fovea {

inline constexpr const char* kEntryName = "fovea_entry";            // of a cubin
inline constexpr const char* kModelEntryName = "fovea_model_main";  // of a shared object for the model

std::string stub(const KernelSource& source, Target::Kind kind);

}  // namespace fovea
