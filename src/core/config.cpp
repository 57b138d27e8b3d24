// Reads the environment, once per Context. A setting that cannot be understood is refused by name.
#include "core/config.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

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
  return config;
}

}  // namespace fovea
