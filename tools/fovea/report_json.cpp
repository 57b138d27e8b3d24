// Reports as one JSON object: fields and lists as members, the table as an array of objects. JSON has no NaN or Inf:
// they are written as the strings "nan", "inf", "-inf".
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/fovea/report.h"

namespace fovea::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* real = std::get_if<double>(&cell)) {
    if (std::isfinite(*real)) return *real;
    return exact_text(*real);
  }
  return nullptr;
}

}  // namespace

void write_json(const Report& report, std::ostream& out) {
  Json json = Json::object();
  for (const auto& [key, cell] : report.fields) json[key] = to_json(cell);
  for (const auto& [key, lines] : report.lists) json[key] = lines;
  if (!report.table.columns.empty()) {
    Json& rows = json[report.table.name] = Json::array();
    for (const auto& row : report.table.rows) {
      Json object = Json::object();
      for (std::size_t c = 0; c < row.size(); ++c) object[report.table.columns[c]] = to_json(row[c]);
      rows.push_back(std::move(object));
    }
  }
  // Names from files may hold invalid UTF-8; replace it rather than fail.
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace fovea::cli
