// NVRTC as a compiler of stubs: headers from memory, one cubin for one architecture. Finding NVRTC is src/driver's
// business, keeping the result the cache's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nvrtc.h"
#include "jit/bundle.h"
#include "jit/bytes.h"
#include "jit/target.h"

namespace fovea {

enum class NvrtcOutput { cubin, ptx };

// The options that change what comes out; part of a cache key.
std::vector<std::string> nvrtc_options(const Target& target, NvrtcOutput output);

struct NvrtcProduct {
  Bytes bytes;
  std::string log;  // warnings, and what ptxas says about registers and spills
};

// The log, when ptxas says in it what a kernel uses; else nullopt: some NVRTC do not pass on what ptxas prints.
std::optional<std::string> resource_text(const std::string& log);

// Compiles `source`, which includes files of `bundle` by their names below device/ and device/isa_ptx/.
Result<NvrtcProduct> compile_nvrtc(const nvrtc::Nvrtc& nvrtc, const Bundle& bundle, const std::string& source,
                                   const Target& target, NvrtcOutput output);

}  // namespace fovea
