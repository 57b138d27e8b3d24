// One table of names serves reading and writing.
#include "core/tile_request.h"

#include <charconv>

#include "core/text.h"

namespace fovea {
namespace {

struct Field {
  std::string_view name;
  int TileRequest::*value;
};
constexpr Field kFields[] = {
    {"tile_m", &TileRequest::tile_m},     {"tile_n", &TileRequest::tile_n},
    {"stages", &TileRequest::stages},     {"rows_per_warp", &TileRequest::rows_per_warp},
    {"min_ctas", &TileRequest::min_ctas},
};
constexpr int kLargest = 1024;

Error refused(std::string_view item) {
  return {.status = FOVEA_CONFIG,
          .asked = cat("FOVEA_TILE with '", item, "'"),
          .allowed = cat("tile_m, tile_n, stages, rows_per_warp, min_ctas, each once at most, as name=number "
                         "with numbers from 0 to ",
                         kLargest, ", separated by commas; or unset"),
          .why = "a setting that cannot be understood is never ignored",
          .hint = "unset it to get the tuned tiles"};
}

// Reads one "name=number".
bool read_item(std::string_view item, TileRequest& request) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view digits = item.substr(equals + 1);
  for (const Field& field : kFields) {
    if (field.name != item.substr(0, equals)) continue;
    int number = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool whole = failure == std::errc{} && end == digits.data() + digits.size();
    if (!whole || number < 0 || number > kLargest || request.*field.value != TileRequest::kAbsent) return false;
    request.*field.value = number;
    return true;
  }
  return false;
}

}  // namespace

Result<TileRequest> parse_tile_request(std::string_view text) {
  TileRequest request;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (!read_item(item, request) || comma + 1 == text.size()) return refused(item);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return request;
}

std::string to_string(const TileRequest& request) {
  std::string text;
  for (const Field& field : kFields) {
    if (request.*field.value == TileRequest::kAbsent) continue;
    text += cat(text.empty() ? "" : ",", field.name, "=", request.*field.value);
  }
  return text;
}

}  // namespace fovea
