// The host's C++ compiler as a compiler of stubs for the functional model: one shared object per kernel and spec.
// Running the object is the business of src/backend/model.
#pragma once

#include <string>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "jit/bundle.h"
#include "jit/bytes.h"

namespace fovea {

struct HostCompiler {
  std::vector<std::string> command;  // CXX may hold a launcher and options: {"ccache", "g++"}
  std::string version;               // first line of --version
  std::string tag() const;           // the version as a part of a file name
};

// CXX, or else g++, or else clang++; the first that runs.
Result<HostCompiler> find_host_compiler(const Config& config);

// The options that change what comes out; part of a cache key.
std::vector<std::string> host_options();

// Compiles `source`, which includes files of `bundle` by their names below device/ and model/. The sources are unpacked
// into a scratch directory that is gone afterwards. The Error of a failed compilation holds the compiler's text.
Result<Bytes> compile_host(const HostCompiler& compiler, const Bundle& bundle, const std::string& source);

}  // namespace fovea
