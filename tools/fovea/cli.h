// The fovea tool without its main(): tests call it in process.
#pragma once

#include <iosfwd>

namespace fovea::cli {

// Parses argv, runs one command and returns its exit code (failure.h). Never throws.
int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace fovea::cli
