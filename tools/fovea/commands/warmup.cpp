// Asks for the list, then for its kernels one by one on every core, so that there is always something to show.
#include "tools/fovea/commands/warmup.h"

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/fovea/clock.h"
#include "tools/fovea/commands/kernels.h"
#include "tools/fovea/library.h"
#include "tools/fovea/side_by_side.h"

namespace fovea::cli {
namespace {

constexpr const char* kOrigins[] = {"memory", "disk", "compiled"};

Result<nlohmann::json> standard_list(fovea_context* context, const char* target) {
  const Result<std::string> text = library_text([&](char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_kernels(context, target, FOVEA_JSON, buffer, size, error);
  });
  if (!text.ok()) return text.failure();
  return nlohmann::json::parse(text.value());
}

std::string label(const nlohmann::json& kernel) {
  return kernel.at("kernel").get<std::string>() + " " + kernel.at("spec").get<std::string>();
}

}  // namespace

void add_warmup(CLI::App& app, WarmupOptions& options) {
  add_target_option(app, options.target);
  app.add_option("--threads", options.threads, "kernels that are compiled at a time; 0 = one per core")
      ->check(CLI::Range(0, 1024));
}

Result<ExitCode> warmup(const WarmupOptions& options, const Console& console) {
  const Result<Context> context = make_context(1);
  if (!context.ok()) return context.failure();
  const char* const target = target_text(options.target);
  const Result<nlohmann::json> list = standard_list(context.value().get(), target);
  if (!list.ok()) return list.failure();
  const nlohmann::json& kernels = list.value().at("kernels");
  const std::string target_name = list.value().at("target").get<std::string>();

  std::vector<fovea_warmup_result> results(kernels.size());
  Outcome failed;
  const Stopwatch watch;
  {
    Progress progress(console, static_cast<std::int64_t>(kernels.size()));
    std::mutex at_failed;
    side_by_side(kernels.size(), options.threads, [&](std::size_t i) {
      progress.step(label(kernels[i]));
      results[i].struct_size = sizeof(results[i]);
      Outcome bad = checked([&](fovea_error* error) {
        return fovea_warmup(context.value().get(), target, static_cast<std::int32_t>(i), &results[i], error);
      });
      if (!bad) return true;
      const std::lock_guard lock(at_failed);
      failed = std::move(bad);
      return false;
    });
  }
  if (failed) return *failed;

  Report report;
  report.table = {.name = "kernels", .columns = {"kernel", "target", "from", "seconds", "bytes", "spec"}, .rows = {}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const fovea_warmup_result& result = results[i];
    report.table.rows.push_back({kernels[i].at("kernel").get<std::string>(), target_name,
                                 std::string(kOrigins[result.origin]), result.seconds,
                                 static_cast<std::int64_t>(result.bytes), kernels[i].at("spec").get<std::string>()});
  }
  report.fields = {{"total_seconds", watch.seconds()}};
  console.write(report);
  return ExitCode::ok;
}

}  // namespace fovea::cli
