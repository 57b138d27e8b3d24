// Reports as CSV after RFC 4180, with \n line ends: the table, or else the fields as a header and one row.
#include <ostream>

#include "tools/fovea/report.h"

namespace fovea::cli {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

std::string csv_text(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return exact_text(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return quoted(*text);
  return "";
}

void line(const std::vector<Cell>& row, std::ostream& out) {
  for (std::size_t c = 0; c < row.size(); ++c) out << (c == 0 ? "" : ",") << csv_text(row[c]);
  out << '\n';
}

}  // namespace

void write_csv(const Report& report, std::ostream& out) {
  if (!report.table.columns.empty()) {
    line({report.table.columns.begin(), report.table.columns.end()}, out);
    for (const auto& row : report.table.rows) line(row, out);
    return;
  }
  std::vector<Cell> header, values;
  for (const auto& [key, cell] : report.fields) {
    header.emplace_back(key);
    values.push_back(cell);
  }
  line(header, out);
  line(values, out);
}

}  // namespace fovea::cli
