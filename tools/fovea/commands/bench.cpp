// Each row: one untimed call, then calls until min_seconds have passed; the median is reported. The peak is measured
// before and after the rows, on as many threads as the context uses, and the larger value counts: other load on the
// machine can only make it smaller.
#include "tools/fovea/commands/bench.h"

#include <algorithm>
#include <vector>

#include "tools/fovea/bench_points.h"
#include "tools/fovea/clock.h"
#include "tools/fovea/features.h"
#include "tools/fovea/fma_peak.h"
#include "tools/fovea/kernel_name.h"
#include "tools/fovea/library.h"
#include "tools/fovea/memory_use.h"
#include "tools/fovea/sequences.h"

namespace fovea::cli {
namespace {

constexpr std::size_t kGflopsColumn = 2, kPeakColumn = 3;

Result<double> median_seconds(fovea_context* context, const fovea_forward_args& args, double min_seconds) {
  const auto call = [&] { return checked([&](fovea_error* error) { return fovea_forward(context, &args, error); }); };
  if (Outcome bad = call()) return *bad;
  std::vector<double> times;
  double total = 0;
  while (times.size() < 3 || (total < min_seconds && times.size() < 100'000)) {
    const Stopwatch watch;
    if (Outcome bad = call()) return *bad;
    times.push_back(watch.seconds());
    total += times.back();
  }
  return median(std::move(times));
}

// A context per row, so that the row's workspace is its own.
Result<std::vector<Cell>> measure(const BenchPoint& point, const BenchOptions& options) {
  fovea_forward_args args{};
  args.backend = backend_of(options.backend).value_or(FOVEA_BACKEND_AUTO);
  if (point.causal) args.flags |= FOVEA_FLAG_CAUSAL;
  const Result<ShapedCall> call = make_shaped_call(point.shapes, args, "", Memory::random);
  if (!call.ok()) return call.failure();
  const PeakMemory memory;
  const Result<Context> context = make_context(options.threads);
  if (!context.ok()) return context.failure();
  const Result<double> seconds = median_seconds(context.value().get(), call.value().args, options.min_seconds);
  if (!seconds.ok()) return seconds.failure();
  const double gflops = forward_flops(call.value().args) / seconds.value() * 1e-9;
  const std::optional<std::int64_t> growth = memory.peak_growth();
  return std::vector<Cell>{point.name,
                           seconds.value() * 1e3,
                           gflops,
                           Cell(),
                           static_cast<std::int64_t>(fovea_context_workspace_bytes(context.value().get())),
                           growth ? Cell(*growth) : Cell(),
                           kernel_name(context.value().get(), call.value().args)};
}

}  // namespace

void add_bench(CLI::App& app, BenchOptions& options) {
  app.add_option("--set", options.set, "quick, prefill, scores (mask and bias), decode, all")
      ->check(CLI::IsMember({"quick", "prefill", "scores", "decode", "all"}))
      ->capture_default_str();
  app.add_option("--filter", options.filter, "only rows whose name contains this text");
  app.add_option("--min-seconds", options.min_seconds, "timed calls per row go on this long")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--backend", options.backend, "auto, cpu, cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")->check(CLI::Range(0, 1024));
}

Result<ExitCode> bench(const BenchOptions& options, const Console& console) {
  std::vector<BenchPoint> points = bench_points(options.set);
  std::erase_if(points, [&](const BenchPoint& p) { return p.name.find(options.filter) == std::string::npos; });
  if (points.empty()) {
    return Failure{.exit = ExitCode::usage,
                   .code = "no_rows",
                   .found = "--filter '" + options.filter + "'",
                   .allowed = "text that some row's name contains",
                   .why = {},
                   .hint = "fovea bench --set all",
                   .file = {},
                   .offset = {}};
  }
  const Result<Context> context = make_context(options.threads);
  if (!context.ok()) return context.failure();
  const std::int32_t threads = fovea_context_num_threads(context.value().get());
  double peak_gflops = measure_fma_peak_gflops(threads);
  Report report;
  report.table = {.name = "rows",
                  .columns = {"call", "ms", "gflops", "peak_percent", "workspace_bytes", "rss_growth_bytes", "kernel"},
                  .rows = {}};
  {
    Progress progress(console, static_cast<std::int64_t>(points.size()));
    for (const BenchPoint& point : points) {
      progress.step(point.name);
      Result<std::vector<Cell>> row = measure(point, options);
      if (!row.ok()) return row.failure();
      report.table.rows.push_back(std::move(row.value()));
    }
  }
  peak_gflops = std::max(peak_gflops, measure_fma_peak_gflops(threads));
  for (auto& row : report.table.rows) row[kPeakColumn] = std::get<double>(row[kGflopsColumn]) / peak_gflops * 100;
  report.fields = {{"threads", std::int64_t{threads}}, {"fp32_fma_peak_gflops", peak_gflops}};
  console.write(report);
  return ExitCode::ok;
}

}  // namespace fovea::cli
