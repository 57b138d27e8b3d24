// The parent process: starts one process per measurement, decides, prints every candidate with what became of it.
#include "tools/fovea/commands/tune.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "tools/cases/device_call.h"
#include "tools/fovea/shape_options.h"
#include "tools/fovea/tuning/candidates.h"
#include "tools/fovea/tuning/measure.h"
#include "tools/fovea/tuning/row.h"
#include "tools/fovea/tuning/sweep.h"

namespace fovea::cli {
namespace {

// This command line, for another process of this program.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && !arguments.empty()) arguments[0] = self.string();
  return arguments;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

std::string tile_text(const Measured& measured) {
  std::string text;
  for (const std::string& field : tile_fields(measured.kernel)) {
    const auto found = measured.tile.find(field);
    if (found == measured.tile.end()) continue;
    text += (text.empty() ? "" : ",") + field + "=" + std::to_string(found->second);
  }
  return text;
}

std::vector<std::string> candidates_for(const Measured& present, const std::string& only) {
  std::vector<std::string> candidates = tile_candidates(present.kernel);
  const std::string own = tile_text(present);
  std::erase_if(candidates, [&](const std::string& c) { return c == own || c.find(only) == std::string::npos; });
  return candidates;
}

std::string milliseconds(const std::vector<double>& seconds) {
  std::string text;
  for (const double s : seconds) text += (text.empty() ? "" : " ") + exact_text(std::round(s * 1e6) / 1e3);
  return text;
}

Report report_of(const TuneOptions& options, const Decision& decision,
                 const std::map<std::string, Measured>& measured) {
  const Measured& present = measured.at("");
  Report report;
  report.table = {.name = "candidates", .columns = {"tile", "ms", "speed", "spread_percent", "verdict"}, .rows = {}};
  std::int64_t without_kernel = 0;
  for (std::size_t i = 0; i < decision.contenders.size(); ++i) {
    const Contender& c = decision.contenders[i];
    if (measured.at(c.tile).kernel.empty()) {  // the library refuses them
      ++without_kernel;
      continue;
    }
    const bool finalist = !c.again.empty();
    report.table.rows.push_back({i == 0 ? tile_text(present) : c.tile, milliseconds(c.first.seconds),
                                 c.gain > 0 ? Cell(std::round(c.gain * 1e3) / 1e3) : Cell(),
                                 finalist ? Cell(std::round(c.spread * 1e3) / 10) : Cell(), c.verdict});
  }
  std::string lengths;
  for (const Shapes& s : shapes_of(options)) lengths += (lengths.empty() ? "" : " ") + std::to_string(s.seqlen_q);
  report.fields = {{"device", present.device},         {"date", today()},
                   {"kernel", present.kernel},         {"seqlens", lengths},
                   {"without_kernel", without_kernel}, {"accepted", decision.accepted >= 0}};
  if (decision.accepted < 0) report.fields.emplace_back("why", decision.why);
  return report;
}

Outcome append_row(const std::string& path, const std::string& row) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::app);
  file << row << '\n';
  file.flush();
  if (file) return {};
  return make_failure(ExitCode::bad_file, "output", "--out " + path, "a file that can be written", "",
                      "choose another");
}

}  // namespace

void add_tune(CLI::App& app, TuneOptions& options) {
  add_shape_options(app, options.shapes, "Shapes");
  add_feature_options(app, options.features);
  const std::string how = "How it is measured";
  app.add_option("--seqlens", options.seqlens, "lengths of queries and keys, each measured: 1024,4096")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 28))
      ->group(how);
  app.add_option("--tokens", options.tokens, "with --seqlens: batch = tokens / length")
      ->check(CLI::NonNegativeNumber)
      ->group(how);
  app.add_option("--only", options.only, "only candidates whose text contains this: tile_m=192")->group(how);
  app.add_option("--seconds", options.seconds, "timed calls per length and process go on this long")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str()
      ->group(how);
  app.add_option("--timeout", options.timeout, "seconds for a process; a candidate that takes longer is left out")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str()
      ->group(how);
  app.add_option("--out", options.out, "append the accepted row to this file")->group("Results");
  app.add_flag("--measure", options.measure, "only time the call in this process, with the tiles of FOVEA_TILE; JSON")
      ->group("Results");
}

Result<ExitCode> tune(const TuneOptions& options, const Console& console) {
  if (const std::string reason = cases::no_device_reason(); !reason.empty()) {
    return make_failure(ExitCode::refused, "device", "fovea tune", "a machine with an NVIDIA GPU and its driver",
                        reason, "tiles are measured on the device that they are for");
  }
  if (options.measure) {
    console.out << to_json(measure_calls(options)) << '\n';
    return ExitCode::ok;
  }
  std::vector<std::string> arguments = own_arguments();
  arguments.push_back("--measure");
  const Measured present = measure_in_process(arguments, "", options.timeout);
  if (present.seconds.empty()) {
    return make_failure(ExitCode::refused, "measure", "this call", "calls that a GPU kernel serves", present.why,
                        "see fovea explain");
  }
  const std::vector<std::string> candidates = candidates_for(present, options.only);
  if (candidates.empty()) {
    return make_failure(ExitCode::usage, "no_candidates", "--only '" + options.only + "', kernel " + present.kernel,
                        "text that some candidate contains", "", "leave --only out");
  }
  Progress progress(console, static_cast<std::int64_t>(candidates.size()) + 1 + (kFinalists + 1) * kFinalRounds);
  std::map<std::string, Measured> measured;
  const Decision decision = sweep(candidates, [&](const std::string& tile) {
    progress.step(tile.empty() ? "present tiles" : tile);
    Measured& sample = measured[tile] = measure_in_process(arguments, tile, options.timeout);
    return Sample{sample.seconds, sample.why};
  });
  Report report = report_of(options, decision, measured);
  if (decision.accepted >= 0) {
    const Contender& winner = decision.contenders[static_cast<std::size_t>(decision.accepted)];
    const std::string row = tuning_row(options, measured[winner.tile], evidence(options, present, winner, today()));
    report.fields.emplace_back("row", row);
    if (Outcome bad = append_row(options.out, row)) return *bad;
  }
  console.write(report);
  return ExitCode::ok;
}

}  // namespace fovea::cli
