// fovea_cache: the kernels on disk: where they are, whether they are whole, and an end to them.
#include "api/boundary.h"
#include "api/context.h"
#include "api/json.h"
#include "api/text_buffer.h"

namespace fovea {
namespace {

std::string list_text(const std::vector<CacheEntry>& entries) {
  std::string out;
  for (const CacheEntry& e : entries) {
    out += cat(e.problem.empty() ? "ok       " : "damaged  ", e.label, "  ", e.bytes, " bytes  ", e.file,
               e.problem.empty() ? "" : "  ", e.problem, "\n");
  }
  return out;
}

void write_entries(JsonWriter& json, const std::vector<CacheEntry>& entries) {
  json.begin_array("entries");
  for (const CacheEntry& e : entries) {
    json.begin_object();
    json.member("label", e.label);
    json.member("file", e.file);
    json.member("bytes", e.bytes);
    json.member("whole", e.problem.empty());
    json.member("problem", e.problem);
    json.end_object();
  }
  json.end_array();
}

Check unknown_action(std::int32_t action) {
  return Error{.status = FOVEA_UNKNOWN_FLAG,
               .asked = cat("action=", action),
               .allowed = "FOVEA_CACHE_PATH (0), FOVEA_CACHE_LIST (1) or FOVEA_CACHE_CLEAR (2)",
               .why = "the number names no action of this version",
               .hint = "use a value of fovea_cache_action"};
}

// Room for the report of a clear(), whatever the count.
constexpr std::size_t kClearReport = 128;

Check clear(const DiskCache& cache, bool json, char* buffer, std::size_t* size) {
  if (buffer == nullptr || *size < kClearReport) return write_text(std::string(kClearReport - 1, ' '), nullptr, size);
  const std::size_t removed = cache.clear();
  return write_text(json ? cat("{\"removed\":", removed, "}") : cat("removed ", removed, " files\n"), buffer, size);
}

Check run(const DiskCache& cache, std::int32_t action, bool as_json, char* buffer, std::size_t* size) {
  if (action == FOVEA_CACHE_CLEAR) return clear(cache, as_json, buffer, size);
  if (action != FOVEA_CACHE_PATH && action != FOVEA_CACHE_LIST) return unknown_action(action);
  const bool list = action == FOVEA_CACHE_LIST;
  if (!as_json) return write_text(list ? list_text(cache.entries()) : cat(cache.directory(), "\n"), buffer, size);
  JsonWriter json;
  json.begin_object();
  json.member("path", cache.directory());
  if (list) write_entries(json, cache.entries());
  json.end_object();
  return write_text(json.text(), buffer, size);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_cache(fovea_context* context, int32_t action, int32_t format, char* buffer, size_t* size,
                                    fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (Check bad = check_text_request(format, size)) return bad;
    return run(DiskCache(context->config.cache_dir), action, format == FOVEA_JSON, buffer, size);
  });
}
