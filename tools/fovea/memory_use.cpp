// Linux: VmRSS and VmHWM of /proc/self/status; writing 5 to clear_refs sets VmHWM back to VmRSS.
#include "tools/fovea/memory_use.h"

#include <fstream>
#include <sstream>
#include <string>

namespace fovea::cli {
namespace {

std::optional<std::int64_t> status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with(key)) continue;
    std::istringstream text(line.substr(key.size()));
    std::int64_t kilobytes = 0;
    if (text >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

PeakMemory::PeakMemory() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  if (clear.good()) before_ = status_bytes("VmRSS:");
}

std::optional<std::int64_t> PeakMemory::peak_growth() const {
  const std::optional<std::int64_t> peak = status_bytes("VmHWM:");
  if (!before_ || !peak) return std::nullopt;
  return *peak - *before_;
}

}  // namespace fovea::cli
