// Prints a Failure as a short block: one line with the code and the place, then one line per known fact.
#include "tools/fovea/failure.h"

#include <ostream>
#include <string_view>

namespace fovea::cli {
namespace {

// Names from hostile files must not reach a terminal as control sequences.
void print_line(std::ostream& err, std::string_view label, std::string_view text) {
  if (text.empty()) return;
  err << "  " << label;
  for (const char c : text) err << (static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  err << '\n';
}

}  // namespace

void print_failure(const Failure& failure, std::ostream& err) {
  err << "fovea: error: " << failure.code << '\n';
  std::string place = failure.file;
  if (failure.offset) place += ", byte " + std::to_string(*failure.offset);
  print_line(err, "file:    ", place);
  print_line(err, "found:   ", failure.found);
  print_line(err, "allowed: ", failure.allowed);
  print_line(err, "why:     ", failure.why);
  print_line(err, "hint:    ", failure.hint);
}

}  // namespace fovea::cli
