// The places where libnvrtc is looked for. Only directories are read here; opening is nvrtc.cpp's business.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/text.h"
#include "driver/nvrtc.h"

namespace fovea::nvrtc {
namespace {

namespace fs = std::filesystem;

// Newest first.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
// Inside site-packages: the wheels of CUDA 13 and CUDA 12.
constexpr const char* kWheels[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

void add_files(std::vector<Candidate>& out, const fs::path& directory, const std::string& origin) {
  for (const char* name : kNames) {
    std::error_code ignored;
    if (const fs::path file = directory / name; fs::exists(file, ignored)) {
      out.push_back({Candidate::Kind::file, file.string(), origin});
    }
  }
}

// <prefix>/lib/python3.x/site-packages, every x, in a fixed order.
std::vector<fs::path> site_packages(const fs::path& prefix) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator entry(prefix / "lib", failure), end; !failure && entry != end; entry.increment(failure)) {
    if (!entry->path().filename().string().starts_with("python")) continue;
    if (fs::path packages = entry->path() / "site-packages"; fs::is_directory(packages, failure)) {
      found.push_back(std::move(packages));
    }
    failure.clear();
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<Candidate> nvrtc_candidates(const Config& config) {
  if (!config.nvrtc.empty()) return {{Candidate::Kind::file, config.nvrtc, "FOVEA_NVRTC"}};
  std::vector<Candidate> out;
  for (const char* name : kNames) out.push_back({Candidate::Kind::loaded, name, "loaded in this process"});
  for (const std::string& prefix : config.python_prefixes) {
    for (const fs::path& packages : site_packages(prefix)) {
      for (const char* wheel : kWheels) add_files(out, packages / wheel, cat("wheel below ", prefix));
    }
  }
  for (const std::string& prefix : config.python_prefixes) add_files(out, fs::path(prefix) / "lib", "conda");
  for (const std::string& home : config.cuda_homes) {
    add_files(out, fs::path(home) / "lib64", "CUDA_PATH or CUDA_HOME");
    add_files(out, fs::path(home) / "lib", "CUDA_PATH or CUDA_HOME");
  }
  add_files(out, "/usr/local/cuda/lib64", "default place of the toolkit");
  for (const char* name : kNames) out.push_back({Candidate::Kind::loader, name, "the system's loader"});
  return out;
}

}  // namespace fovea::nvrtc
