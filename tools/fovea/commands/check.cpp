// Cases come from cases/generate.h, verdicts from cases/run.h; here they are chosen, counted and shown.
#include "tools/fovea/commands/check.h"

#include "tools/cases/case.h"
#include "tools/cases/device_call.h"
#include "tools/cases/generate.h"
#include "tools/cases/run.h"
#include "tools/fovea/features.h"
#include "tools/fovea/library.h"
#include "tools/fovea/side_by_side.h"

namespace fovea::cli {
namespace {

Result<std::vector<cases::Case>> parsed_cases(const std::vector<std::string>& lines) {
  std::vector<cases::Case> result;
  for (const std::string& line : lines) {
    const cases::ParsedCase parsed = cases::parse(line);
    if (!parsed.value) {
      return Failure{.exit = ExitCode::usage,
                     .code = "case",
                     .found = line,
                     .allowed = parsed.error,
                     .why = "a case is a line of key=value pairs",
                     .hint = "fovea check prints one per failure",
                     .file = {},
                     .offset = {}};
    }
    result.push_back(*parsed.value);
  }
  return result;
}

std::vector<cases::Case> grid_cases(const CheckOptions& options) {
  std::vector<cases::Case> result;
  const auto append = [&](const std::vector<cases::Case>& more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  const bool all = options.grid == "all";
  if (options.grid == "quick") append(cases::quick());
  if (all || options.grid == "kernels") append(cases::kernel_cases());
  if (all || options.grid == "standard") append(cases::standard_grid());
  if (all || options.grid == "features") append(cases::feature_cases());
  if (all || options.grid == "random") {
    for (std::int64_t n = 0; n < options.count; ++n) {
      result.push_back(cases::random_case(options.seed + static_cast<std::uint64_t>(n)));
    }
  }
  if (options.quick) {
    std::erase_if(result, [n = 0](const cases::Case&) mutable { return n++ % 4 != 0; });
  }
  std::erase_if(result,
                [&](const cases::Case& c) { return cases::to_string(c).find(options.filter) == std::string::npos; });
  return result;
}

void add_row(const cases::Case& c, const cases::CaseResult& result, Table& table) {
  table.rows.push_back({std::string(result.passed    ? "ok"
                                    : result.skipped ? "skip"
                                                     : "FAIL"),
                        result.worst_error, result.limit, c.lse ? Cell(result.worst_lse_error) : Cell(),
                        result.rows_checked, result.seconds * 1e3, cases::to_string(c)});
}

// What a repeat command must say beside the case.
std::string backend_arguments(const CheckOptions& options) {
  if (options.backend == "auto") return {};
  std::string text = " --backend " + options.backend;
  if (options.backend == "model") {
    text += " --arch " + options.model.arch + " --landing " + options.model.landing + " --model-seed " +
            std::to_string(options.model.seed);
  }
  return text;
}

// GPU kernels, on a GPU or on the model.
bool runs_gpu_kernels(const CheckOptions& options) { return options.backend == "cuda" || options.backend == "model"; }

// A GPU waits most of the time for cases that are made, compiled and judged, and the model runs a case on one core:
// there every core takes cases. The cpu backend uses the cores by itself, and the times of its calls are worth reading.
int jobs_of(const CheckOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return runs_gpu_kernels(options) ? 0 : 1;
}

std::vector<cases::CaseResult> run_cases(const std::vector<cases::Case>& chosen, fovea_context* context,
                                         const CheckOptions& options, const Console& console) {
  const cases::RunOptions run{.backend = backend_of(options.backend).value_or(FOVEA_BACKEND_AUTO),
                              .stream = options.backend == "cuda" ? cases::stream_of_this_thread() : nullptr,
                              .skip_unsupported = runs_gpu_kernels(options) && options.lines.empty()};
  std::vector<cases::CaseResult> results(chosen.size());
  Progress progress(console, static_cast<std::int64_t>(chosen.size()));
  side_by_side(chosen.size(), jobs_of(options), [&](std::size_t i) {
    progress.step(cases::to_string(chosen[i]));
    results[i] = cases::run_case(chosen[i], context, run);
    return true;
  });
  return results;
}

}  // namespace

void add_check(CLI::App& app, CheckOptions& options) {
  app.add_option("--grid", options.grid,
                 "quick, standard (240 shapes), features, kernels (GPU tile edges), random, all")
      ->check(CLI::IsMember({"quick", "standard", "features", "kernels", "random", "all"}))
      ->capture_default_str();
  app.add_option("--count", options.count, "number of random cases")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the first random case")->capture_default_str();
  app.add_option("--case", options.lines, "run this case line instead of a grid; may be repeated");
  app.add_option("--filter", options.filter, "only cases whose line contains this text");
  app.add_flag("--quick", options.quick, "every fourth case of the grid");
  app.add_option("--backend", options.backend, "auto, cpu, cuda, model (GPU kernels on the functional model)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "model"}))
      ->capture_default_str();
  add_model_options(app, options.model);
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")->check(CLI::Range(0, 1024));
  app.add_option("--jobs", options.jobs, "cases at a time; 0 = one per core with backends cuda and model, else 1")
      ->check(CLI::Range(0, 1024));
}

Result<ExitCode> check(const CheckOptions& options, const Console& console) {
  Result<std::vector<cases::Case>> chosen =
      options.lines.empty() ? Result<std::vector<cases::Case>>(grid_cases(options)) : parsed_cases(options.lines);
  if (!chosen.ok()) return chosen.failure();
  if (chosen.value().empty()) {
    return Failure{.exit = ExitCode::usage,
                   .code = "no_cases",
                   .found = "--filter '" + options.filter + "'",
                   .allowed = "text that some case line contains",
                   .why = "a check of nothing would always pass",
                   .hint = "fovea check --format csv lists the lines",
                   .file = {},
                   .offset = {}};
  }
  const Result<Context> context = make_context(options.threads, options.model);
  if (!context.ok()) return context.failure();

  const std::vector<cases::CaseResult> results = run_cases(chosen.value(), context.value().get(), options, console);
  Report report;
  report.table = {
      .name = "cases", .columns = {"result", "max_error", "limit", "lse_error", "rows", "ms", "case"}, .rows = {}};
  std::vector<std::string> repeat, messages, skips;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const cases::Case& c = chosen.value()[i];
    const cases::CaseResult& result = results[i];
    add_row(c, result, report.table);
    if (result.passed) continue;
    if (result.skipped) {
      skips.push_back(cases::to_string(c) + ": " + result.message);
      continue;
    }
    messages.push_back(result.message);
    repeat.push_back(cases::repeat_command(c) + backend_arguments(options));
  }
  const auto failed = static_cast<std::int64_t>(repeat.size());
  const auto total = static_cast<std::int64_t>(chosen.value().size());
  const auto skipped = static_cast<std::int64_t>(skips.size());
  report.fields = {{"cases", total}, {"failed", failed}, {"skipped", skipped}};
  report.lists = {{"messages", messages}, {"repeat", repeat}, {"skips", skips}};
  console.write(report);
  // A grid of which the backend serves nothing has shown nothing.
  return failed == 0 && skipped < total ? ExitCode::ok : ExitCode::failures_found;
}

}  // namespace fovea::cli
