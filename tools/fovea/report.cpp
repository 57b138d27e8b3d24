// Dispatch, and the number text that JSON and CSV share.
#include "tools/fovea/report.h"

#include <array>
#include <charconv>
#include <cmath>

namespace fovea::cli {

void write_report(const Report& report, Format format, bool color, std::ostream& out) {
  switch (format) {
    case Format::table:
      return write_text(report, color, out);
    case Format::json:
      return write_json(report, out);
    case Format::csv:
      return write_csv(report, out);
  }
}

std::string exact_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

}  // namespace fovea::cli
