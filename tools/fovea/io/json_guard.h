// json_guard: looks over untrusted JSON before it is parsed into memory: syntax, nesting depth, number of values, and
// keys that appear twice in one object (which parsers drop silently).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fovea::cli {

struct JsonLimits {
  std::size_t depth = 4;
  std::size_t values = std::size_t{1} << 20;
};

struct JsonFault {
  std::string code;          // "json_syntax", "json_depth", "json_size", "json_duplicate"
  std::size_t position = 0;  // byte in the text; 0 when the parser does not tell
  std::string found;
  std::string allowed;
};

std::optional<JsonFault> check_json(std::string_view text, const JsonLimits& limits);

}  // namespace fovea::cli
