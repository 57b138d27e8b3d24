// CSV has no form for nested text and is refused.
#include "tools/fovea/library_report.h"

#include "tools/fovea/library.h"

namespace fovea::cli {

Result<ExitCode> print_library_report(const Console& console, const LibraryReport& report) {
  if (console.format == Format::csv) {
    return Failure{.exit = ExitCode::usage,
                   .code = "format",
                   .found = "--format csv",
                   .allowed = "table, json",
                   .why = "this report is no table",
                   .hint = {},
                   .file = {},
                   .offset = {}};
  }
  const fovea_format format = console.format == Format::json ? FOVEA_JSON : FOVEA_TEXT;
  const Result<std::string> text = library_text(
      [&](char* buffer, std::size_t* size, fovea_error* error) { return report(format, buffer, size, error); });
  if (!text.ok()) return text.failure();
  console.out << text.value();
  if (!text.value().ends_with('\n')) console.out << '\n';
  return ExitCode::ok;
}

}  // namespace fovea::cli
