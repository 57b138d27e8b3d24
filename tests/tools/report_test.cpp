// The three output formats of a Report.
#include "tools/fovea/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fovea::cli {
namespace {

Report sample() {
  Report report;
  report.table = {.name = "cases", .columns = {"result", "error", "note"}, .rows = {}};
  report.table.rows.push_back({std::string("ok"), 0.125, std::string("a,\"b\"")});
  report.table.rows.push_back({std::string("FAIL"), std::numeric_limits<double>::quiet_NaN(), Cell()});
  report.fields = {{"count", std::int64_t{2}}, {"passed", false}};
  report.lists = {{"repeat", {"fovea check"}}};
  return report;
}

std::string written(const Report& report, Format format, bool color = false) {
  std::ostringstream out;
  write_report(report, format, color, out);
  return out.str();
}

TEST(Report, TableAlignsNumbersRightAndTextsLeft) {
  EXPECT_EQ(written(sample(), Format::table),
            "result  error  note\n"
            "ok      0.125  a,\"b\"\n"
            "FAIL      nan  -\n"
            "\n"
            "count   2\n"
            "passed  no\n"
            "\n"
            "repeat:\n"
            "  fovea check\n");
}

TEST(Report, ColourMarksHeadersAndFailuresOnly) {
  const std::string text = written(sample(), Format::table, true);
  EXPECT_NE(text.find("\x1b[1mresult"), std::string::npos);
  EXPECT_NE(text.find("\x1b[31mFAIL"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[31mok"), std::string::npos);
  EXPECT_EQ(written(sample(), Format::table).find('\x1b'), std::string::npos);
  EXPECT_EQ(written(sample(), Format::json, true).find('\x1b'), std::string::npos);
}

TEST(Report, ControlCharactersDoNotReachTheTerminal) {
  Report report;
  report.fields = {{"name", std::string("a\x1b[2Jb")}};
  EXPECT_EQ(written(report, Format::table), "name  a?[2Jb\n");
}

TEST(Report, JsonIsOneDocumentWithTypesKept) {
  const nlohmann::json json = nlohmann::json::parse(written(sample(), Format::json));
  EXPECT_EQ(json["count"], 2);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["repeat"][0], "fovea check");
  ASSERT_EQ(json["cases"].size(), 2U);
  EXPECT_EQ(json["cases"][0]["error"], 0.125);
  EXPECT_EQ(json["cases"][0]["note"], "a,\"b\"");
  EXPECT_EQ(json["cases"][1]["error"], "nan");
  EXPECT_TRUE(json["cases"][1]["note"].is_null());
}

TEST(Report, JsonSurvivesInvalidUtf8) {
  Report report;
  report.fields = {{"name", std::string("\xff")}};
  EXPECT_TRUE(nlohmann::json::accept(written(report, Format::json)));
}

TEST(Report, CsvQuotesAndPrefersTheTable) {
  EXPECT_EQ(written(sample(), Format::csv),
            "result,error,note\n"
            "ok,0.125,\"a,\"\"b\"\"\"\n"
            "FAIL,nan,\n");
  Report fields;
  fields.fields = {{"a", std::int64_t{1}}, {"b", true}, {"c", std::string("x\ny")}};
  EXPECT_EQ(written(fields, Format::csv), "a,b,c\n1,true,\"x\ny\"\n");
}

TEST(Report, NumbersInJsonAndCsvReadBackExactly) {
  for (const double value : {0.1, 1e-300, -3.25, 1.0 / 3.0}) EXPECT_EQ(std::stod(exact_text(value)), value);
  EXPECT_EQ(exact_text(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace fovea::cli
