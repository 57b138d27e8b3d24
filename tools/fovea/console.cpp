// NO_COLOR is the one variable that the tool reads (no-color.org: set and not empty means no colour).
#include "tools/fovea/console.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace fovea::cli {

Console make_console(std::ostream& out, std::ostream& err) {
  const char* const no_color = std::getenv("NO_COLOR");
  const bool wanted = no_color == nullptr || *no_color == '\0';
  return {.out = out,
          .err = err,
          .format = Format::table,
          .color = wanted && &out == &std::cout && ::isatty(STDOUT_FILENO) == 1,
          .progress = &err == &std::cerr && ::isatty(STDERR_FILENO) == 1};
}

void Progress::step(std::string_view label) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!console_.progress) return;
  console_.err << "\r\x1b[K[" << done_ << '/' << total_ << "] " << label.substr(0, 60) << std::flush;
}

Progress::~Progress() {
  if (console_.progress) console_.err << "\r\x1b[K" << std::flush;
}

}  // namespace fovea::cli
