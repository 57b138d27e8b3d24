// Report: what a command found, as data: single fields, one table, and lists of lines. One writer per output format.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fovea::cli {

// monostate = does not apply: "-" in a table, null in JSON, empty in CSV.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct Table {
  std::string name;  // key in JSON
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as `columns`
};

struct Report {
  std::vector<std::pair<std::string, Cell>> fields;
  Table table;                                                          // no columns = none
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  // in JSON always, in tables when not empty
};

enum class Format : std::uint8_t { table, json, csv };

// Table: aligned columns, then fields, then lists. JSON: one object. CSV (RFC 4180): the table, or else the fields as
// one row. `color` affects tables only.
void write_report(const Report& report, Format format, bool color, std::ostream& out);

// The three writers behind it.
void write_text(const Report& report, bool color, std::ostream& out);
void write_json(const Report& report, std::ostream& out);
void write_csv(const Report& report, std::ostream& out);

// Shortest decimal that reads back as the same number; "nan", "inf", "-inf".
std::string exact_text(double value);

}  // namespace fovea::cli
