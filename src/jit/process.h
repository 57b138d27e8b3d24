// Running a program without a shell: arguments as a list, output captured. Used for the host compiler only.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace fovea {

struct Finished {
  int exit_code = -1;  // 128 + signal number when a signal ended it
  std::string output;  // what it wrote to stdout and stderr, in order
};

// Starts arguments[0], looked for on PATH when it has no slash, with an empty stdin; waits for its end. An Error only
// when it could not be started.
Result<Finished> run_process(const std::vector<std::string>& arguments);

}  // namespace fovea
