// Reads the environment, once per Context. A setting that cannot be understood is refused by name.
#include "core/config.h"

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace fovea {
namespace {

// Reads `name` as an integer in [low, high] into `value`; an unset or empty variable leaves it.
Check read_int(const char* name, int low, int high, std::string_view hint, int& value) {
  const char* raw = std::getenv(name);
  if (raw == nullptr || *raw == '\0') return {};
  const std::string_view text(raw);
  int parsed = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (failure != std::errc{} || end != text.data() + text.size() || parsed < low || parsed > high) {
    return Error{.status = FOVEA_CONFIG,
                 .asked = cat("environment variable ", name, "=", text),
                 .allowed = cat("an integer from ", low, " to ", high, ", or unset"),
                 .why = "a setting that cannot be understood is never ignored",
                 .hint = std::string(hint)};
  }
  value = parsed;
  return {};
}

// The variable's value; empty when unset.
std::string read_text(const char* name) {
  const char* raw = std::getenv(name);
  return raw == nullptr ? std::string() : std::string(raw);
}

std::vector<std::string> read_texts(std::initializer_list<const char*> names) {
  std::vector<std::string> found;
  for (const char* name : names) {
    if (std::string text = read_text(name); !text.empty()) found.push_back(std::move(text));
  }
  return found;
}

// The XDG base directory specification wants an absolute path and ignores any other.
std::string default_cache_dir() {
  if (const std::string xdg = read_text("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/fovea";
  if (const std::string home = read_text("HOME"); home.starts_with('/')) return home + "/.cache/fovea";
  return {};
}

Check read_log_level(bool& quiet) {
  const std::string level = read_text("FOVEA_LOG");
  if (level.empty() || level == "info" || level == "quiet") {
    quiet = level == "quiet";
    return {};
  }
  return Error{.status = FOVEA_CONFIG,
               .asked = cat("environment variable FOVEA_LOG=", level),
               .allowed = "info, quiet, or unset",
               .why = "a setting that cannot be understood is never ignored",
               .hint = "set FOVEA_LOG=quiet to silence progress lines, or unset it"};
}

void read_compilation(Config& config) {
  config.cache_dir = read_text("FOVEA_CACHE_DIR");
  if (config.cache_dir.empty()) config.cache_dir = default_cache_dir();
  config.nvrtc = read_text("FOVEA_NVRTC");
  config.python_prefixes = read_texts({"VIRTUAL_ENV", "CONDA_PREFIX"});
  config.cuda_homes = read_texts({"CUDA_PATH", "CUDA_HOME"});
  config.host_compiler = read_text("CXX");
}

}  // namespace

Result<Config> read_config() {
  Config config;
  if (Check bad = read_int("FOVEA_NUM_THREADS", 1, kMaxThreads, "unset it to use every core of the process",
                           config.num_threads)) {
    return *bad;
  }
  int disable_amx = 0;
  if (Check bad =
          read_int("FOVEA_DISABLE_AMX", 0, 1, "set 1 to keep bf16 on the fp32 kernel, or unset it", disable_amx)) {
    return *bad;
  }
  config.disable_amx = disable_amx == 1;
  if (Check bad = read_log_level(config.quiet)) return *bad;
  const Result<TileRequest> tile = parse_tile_request(read_text("FOVEA_TILE"));
  if (!tile.ok()) return tile.error();
  config.tile = tile.value();
  read_compilation(config);
  return config;
}

}  // namespace fovea
