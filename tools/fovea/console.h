// Console: where a command writes and how. Results go to `out`, progress and errors to `err`.
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <string_view>

#include "tools/fovea/report.h"

namespace fovea::cli {

struct Console {
  std::ostream& out;
  std::ostream& err;
  Format format = Format::table;
  bool color = false;     // out is a terminal and NO_COLOR is unset or empty
  bool progress = false;  // err is a terminal

  void write(const Report& report) const { write_report(report, format, color, out); }
};

// Terminal properties count only when the streams are the process's own.
Console make_console(std::ostream& out, std::ostream& err);

// One line on a terminal that rewrites itself; silent elsewhere. Steps may come from several threads.
class Progress {
 public:
  Progress(const Console& console, std::int64_t total) : console_(console), total_(total) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(std::string_view label);

 private:
  const Console& console_;
  std::int64_t total_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace fovea::cli
