// Reports for people: numbers right-aligned with four digits, texts left-aligned, bold headers and red failures on
// colour terminals.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

#include "tools/fovea/report.h"

namespace fovea::cli {
namespace {

std::string short_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

// Control characters of names from files must not reach the terminal.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string cell_text(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return short_text(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return printable(*text);
  return "-";
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

class TextTable {
 public:
  TextTable(const Table& table, bool color) : table_(table), color_(color) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::size_t width = table.columns[c].size();
      bool numeric = false;
      for (const auto& row : table.rows) {
        width = std::max(width, cell_text(row[c]).size());
        numeric = numeric || is_number(row[c]);
      }
      widths_.push_back(width);
      numeric_.push_back(numeric);
    }
  }

  void write(std::ostream& out) const {
    std::vector<Cell> header(table_.columns.begin(), table_.columns.end());
    line(header, color_ ? "\x1b[1m" : "", out);
    for (const auto& row : table_.rows) line(row, color_ && failed(row) ? "\x1b[31m" : "", out);
  }

 private:
  static bool failed(const std::vector<Cell>& row) {
    return std::find(row.begin(), row.end(), Cell(std::string("FAIL"))) != row.end();
  }

  void line(const std::vector<Cell>& row, std::string_view style, std::ostream& out) const {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string cell = cell_text(row[c]);
      const std::string padding(widths_[c] - cell.size(), ' ');
      text += (c == 0 ? "" : "  ") + (numeric_[c] ? padding + cell : cell + padding);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << style << text << (style.empty() ? "" : "\x1b[0m") << '\n';
  }

  const Table& table_;
  bool color_;
  std::vector<std::size_t> widths_;
  std::vector<bool> numeric_;
};

}  // namespace

void write_text(const Report& report, bool color, std::ostream& out) {
  if (!report.table.columns.empty()) {
    TextTable(report.table, color).write(out);
    if (!report.fields.empty()) out << '\n';
  }
  std::size_t width = 0;
  for (const auto& [key, cell] : report.fields) width = std::max(width, key.size());
  for (const auto& [key, cell] : report.fields) {
    out << key << std::string(width - key.size() + 2, ' ') << cell_text(cell) << '\n';
  }
  for (const auto& [key, lines] : report.lists) {
    if (lines.empty()) continue;
    out << '\n' << key << ":\n";
    for (const std::string& text : lines) out << "  " << printable(text) << '\n';
  }
}

}  // namespace fovea::cli
