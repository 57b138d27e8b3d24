// The tool as a whole: help, version, formats and exit codes of check, explain, doctor and bench.
#include <nlohmann/json.hpp>

#include "fovea/fovea.h"
#include "tools/support.h"

namespace fovea::cli::testing {
namespace {

TEST(Cli, HelpAndVersion) {
  const Ran version = fovea({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, std::string("fovea ") + fovea_version() + "\n");
  for (const std::string command : {"run", "check", "explain", "doctor", "bench", "kernels", "warmup", "cache"}) {
    const Ran help = fovea({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Exit codes: 0 ok"), std::string::npos) << command;
    EXPECT_TRUE(help.err.empty());
  }
}

TEST(Cli, UsageErrorsGoToStderrWithCode2) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"nonsense"}, {"doctor", "--format", "xml"}, {"doctor", "--nonsense"}}) {
    const Ran ran = fovea(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_FALSE(ran.err.empty());
    EXPECT_TRUE(ran.out.empty());
  }
}

TEST(Check, RunsACaseLineAndPrintsItBack) {
  const Ran ran = fovea({"check", "--grid", "random", "--count", "2", "--seed", "2", "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["failed"], 0);
  ASSERT_EQ(json["cases"].size(), 2U);
  const std::string line = json["cases"][0]["case"];
  const Ran again = fovea({"check", "--case", line, "--format", "json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["cases"][0]["case"], line);
}

TEST(Check, CasesSideBySideGiveTheSameRows) {
  const auto rows = [](const std::string& jobs) {
    const Ran ran =
        fovea({"check", "--filter", "sq=1 ", "--grid", "features", "--quick", "--jobs", jobs, "--format", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    nlohmann::json json = nlohmann::json::parse(ran.out)["cases"];
    for (nlohmann::json& row : json) row.erase("ms");
    return json;
  };
  const nlohmann::json one = rows("1");
  EXPECT_GE(one.size(), 5U);
  EXPECT_EQ(one, rows("4"));
}

TEST(Check, AFailureGivesCode1AndOneCommandThatRepeatsIt) {
  // A random case has features that no GPU kernel serves, and most machines have no GPU: it cannot pass.
  const Ran ran = fovea({"check", "--grid", "random", "--count", "1", "--backend", "cuda", "--format", "json"});
  ASSERT_EQ(ran.code, 1) << ran.out;
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  ASSERT_EQ(json["repeat"].size(), 1U);
  EXPECT_EQ(json["cases"][0]["result"], "FAIL");
  const std::string command = json["repeat"][0];
  EXPECT_TRUE(command.starts_with("fovea check --case ")) << command;
}

TEST(Check, BadLinesAndEmptySelectionsAreUsageErrors) {
  EXPECT_EQ(fovea({"check", "--case", "nonsense=1"}).code, 2);
  EXPECT_EQ(fovea({"check", "--jobs", "-1"}).code, 2);
  EXPECT_EQ(fovea({"check", "--grid", "quick", "--filter", "no such text"}).code, 2);
}

TEST(Explain, SpeaksAboutShapesFarLargerThanTheMachine) {
  const Ran ran = fovea({"explain", "--batch", "100000", "--seqlen-q", "100000", "--heads-q", "64", "--heads-kv", "8",
                         "--head-dim", "128", "--causal", "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["problem"]["num_heads_kv"], 8);
  EXPECT_TRUE(json["choice"].is_string());
}

TEST(Explain, PackedPagedMaskAndSink) {
  const Ran ran = fovea({"explain", "--lengths-q", "5,0,9", "--seqlen-kv", "33", "--page-size", "16", "--used-kv",
                         "33,1,0", "--mask-shape", "3,1,1,33", "--with-sink", "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json problem = nlohmann::json::parse(ran.out)["problem"];
  EXPECT_EQ(problem["q_layout"], "varlen");
  EXPECT_EQ(problem["kv_layout"], "paged");
  EXPECT_EQ(problem["batch"], 3);
  EXPECT_EQ(problem["has_sink"], true);
}

TEST(Explain, RefusalsEndWithCode4AndOverflowWith2) {
  const Ran ratio = fovea({"explain", "--heads-q", "7", "--heads-kv", "2"});
  EXPECT_EQ(ratio.code, 4);
  EXPECT_NE(ratio.err.find("head_ratio"), std::string::npos) << ratio.err;
  const std::string huge = "4611686018427387904";
  EXPECT_EQ(fovea({"explain", "--batch", huge, "--seqlen-q", huge}).code, 2);
}

TEST(Doctor, TextAndJsonButNoCsv) {
  EXPECT_EQ(fovea({"doctor"}).code, 0);
  const Ran json = fovea({"doctor", "--format", "json"});
  ASSERT_EQ(json.code, 0);
  EXPECT_TRUE(nlohmann::json::parse(json.out).is_object());
  EXPECT_EQ(fovea({"doctor", "--format", "csv"}).code, 2);
}

TEST(Bench, PrintsARowPerCallAndThePeak) {
  const Ran ran = fovea({"bench", "--set", "prefill", "--filter", "f32 bh=8 s=128 d=64 causal", "--min-seconds", "0",
                         "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  EXPECT_GT(json["fp32_fma_peak_gflops"], 0.0);
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_GT(json["rows"][0]["gflops"], 0.0);
  EXPECT_GT(json["rows"][0]["workspace_bytes"], 0);
}

}  // namespace
}  // namespace fovea::cli::testing
