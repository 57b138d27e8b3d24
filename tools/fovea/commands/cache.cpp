// All knowledge is the library's: fovea_cache(). verify is ls with a verdict as exit code.
#include "tools/fovea/commands/cache.h"

#include <nlohmann/json.hpp>

#include "tools/fovea/library.h"
#include "tools/fovea/library_report.h"

namespace fovea::cli {
namespace {

Result<bool> all_whole(fovea_context* context) {
  const Result<std::string> text = library_text([&](char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_cache(context, FOVEA_CACHE_LIST, FOVEA_JSON, buffer, size, error);
  });
  if (!text.ok()) return text.failure();
  const nlohmann::json report = nlohmann::json::parse(text.value());
  for (const nlohmann::json& entry : report.at("entries")) {
    if (!entry.at("whole").get<bool>()) return false;
  }
  return true;
}

}  // namespace

void add_cache(CLI::App& app, CacheOptions& options) {
  app.add_option("action", options.action,
                 "ls (default); path; verify: ls, with exit code 1 when an entry is damaged; clear")
      ->check(CLI::IsMember({"path", "ls", "verify", "clear"}));
}

Result<ExitCode> cache(const CacheOptions& options, const Console& console) {
  const Result<Context> context = make_context(1);
  if (!context.ok()) return context.failure();
  const fovea_cache_action action = options.action == "path"    ? FOVEA_CACHE_PATH
                                    : options.action == "clear" ? FOVEA_CACHE_CLEAR
                                                                : FOVEA_CACHE_LIST;
  const Result<ExitCode> printed =
      print_library_report(console, [&](fovea_format format, char* buffer, std::size_t* size, fovea_error* error) {
        return fovea_cache(context.value().get(), action, format, buffer, size, error);
      });
  if (!printed.ok() || options.action != "verify") return printed;
  const Result<bool> whole = all_whole(context.value().get());
  if (!whole.ok()) return whole.failure();
  return whole.value() ? ExitCode::ok : ExitCode::failures_found;
}

}  // namespace fovea::cli
