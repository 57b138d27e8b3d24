// Asks for the list, then for one kernel after the other, so that there is always something to show.
#include "tools/fovea/commands/warmup.h"

#include <nlohmann/json.hpp>

#include "tools/fovea/commands/kernels.h"
#include "tools/fovea/library.h"

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

}  // namespace

void add_warmup(CLI::App& app, WarmupOptions& options) { add_target_option(app, options.target); }

Result<ExitCode> warmup(const WarmupOptions& options, const Console& console) {
  const Result<Context> context = make_context(1);
  if (!context.ok()) return context.failure();
  const char* const target = target_text(options.target);
  const Result<nlohmann::json> list = standard_list(context.value().get(), target);
  if (!list.ok()) return list.failure();
  const nlohmann::json& kernels = list.value().at("kernels");
  const std::string target_name = list.value().at("target").get<std::string>();

  Report report;
  report.table = {.name = "kernels", .columns = {"kernel", "target", "from", "seconds", "bytes", "spec"}, .rows = {}};
  double seconds = 0;
  {
    Progress progress(console, static_cast<std::int64_t>(kernels.size()));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::string kernel = kernels[i].at("kernel").get<std::string>();
      const std::string spec = kernels[i].at("spec").get<std::string>();
      progress.step(kernel + " " + spec);
      fovea_warmup_result result{};
      result.struct_size = sizeof(result);
      if (Outcome bad = checked([&](fovea_error* error) {
            return fovea_warmup(context.value().get(), target, static_cast<std::int32_t>(i), &result, error);
          })) {
        return *bad;
      }
      seconds += result.seconds;
      report.table.rows.push_back({kernel, target_name, std::string(kOrigins[result.origin]), result.seconds,
                                   static_cast<std::int64_t>(result.bytes), spec});
    }
  }
  report.fields = {{"total_seconds", seconds}};
  console.write(report);
  return ExitCode::ok;
}

}  // namespace fovea::cli
