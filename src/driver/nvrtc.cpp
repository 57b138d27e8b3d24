// Opens NVRTC and, before it is asked to compile, its builtins: NVRTC opens libnvrtc-builtins by bare name, and finds
// another version's or none unless the right one, from its own folder, is in the process already.
#include "driver/nvrtc.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "core/text.h"

namespace fovea::nvrtc {
namespace {

// From 12.8 on NVRTC knows every target of the project (sm_100a, sm_120a).
constexpr int kMinMajor = 12;
constexpr int kMinMinor = 8;
// What nvrtc_candidates() looks at, for the message.
constexpr const char* kSearched =
    "searched this process, wheels and lib below VIRTUAL_ENV and CONDA_PREFIX, CUDA_PATH, CUDA_HOME, /usr/local/cuda, "
    "the loader's path";

std::optional<SharedLibrary> open(const Candidate& candidate, std::string& reason) {
  if (candidate.kind != Candidate::Kind::loaded) {
    return SharedLibrary::open(candidate.name, SharedLibrary::Unload::never, reason);
  }
  auto library = SharedLibrary::loaded(candidate.name);
  if (!library) reason = "not loaded";
  return library;
}

// The first function that the library lacks; empty when it has all.
std::string fill(Nvrtc& nvrtc) {
  std::string missing;
#define FOVEA_LOAD(name, ...)                                                                  \
  nvrtc.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(nvrtc.library.symbol(#name)); \
  if (nvrtc.name == nullptr && missing.empty()) missing = #name;
  FOVEA_NVRTC_FUNCTIONS(FOVEA_LOAD)
#undef FOVEA_LOAD
  return missing;
}

void open_builtins(Nvrtc& nvrtc) {
  const auto folder = std::filesystem::path(nvrtc.path).parent_path();
  const std::string path = (folder / cat("libnvrtc-builtins.so.", nvrtc.version())).string();
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return;
  std::string reason;
  if (SharedLibrary::open(path, SharedLibrary::Unload::never, reason)) nvrtc.builtins = path;
}

// Empty when the candidate serves; else why not.
std::string try_candidate(const Candidate& candidate, int max_major, Nvrtc& nvrtc) {
  std::string reason;
  const auto library = open(candidate, reason);
  if (!library) return reason;
  nvrtc.library = *library;
  if (const std::string missing = fill(nvrtc); !missing.empty()) return cat("has no function ", missing);
  if (nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor) != NVRTC_SUCCESS) return "does not tell its version";
  if (nvrtc.major < kMinMajor || (nvrtc.major == kMinMajor && nvrtc.minor < kMinMinor)) {
    return cat("is version ", nvrtc.version(), ", older than ", kMinMajor, ".", kMinMinor);
  }
  if (max_major != 0 && nvrtc.major > max_major) {
    return cat("is version ", nvrtc.version(), ", newer than the driver's CUDA ", max_major);
  }
  nvrtc.path = file_of_address(reinterpret_cast<const void*>(nvrtc.nvrtcVersion));
  open_builtins(nvrtc);
  return {};
}

}  // namespace

std::string Nvrtc::version() const { return cat(major, ".", minor); }

Result<Nvrtc> load_nvrtc(const std::vector<Candidate>& candidates, int max_major) {
  std::string unfit;  // candidates that exist and do not serve
  for (const Candidate& candidate : candidates) {
    Nvrtc nvrtc;
    const std::string reason = try_candidate(candidate, max_major, nvrtc);
    if (reason.empty()) return nvrtc;
    if (candidate.kind == Candidate::Kind::file || nvrtc.major != 0) {
      unfit += cat("; ", candidate.name, " (", candidate.origin, ") ", reason);
    }
  }
  const bool fixed = candidates.size() == 1;
  return Error{.status = FOVEA_NO_BACKEND,
               .asked = "NVRTC, the compiler of GPU kernels",
               .allowed = max_major == 0 ? cat("NVRTC ", kMinMajor, ".", kMinMinor, " or later")
                                         : cat("NVRTC ", kMinMajor, ".", kMinMinor, " to ", max_major, ".x"),
               .why = cat(fixed ? "searched where FOVEA_NVRTC says and nowhere else" : kSearched, unfit),
               .hint = cat(fixed ? "correct FOVEA_NVRTC, or unset it to search; or " : "", "pip install ",
                           max_major == 12 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc",
                           " into the active environment, or set FOVEA_NVRTC to the path of libnvrtc.so")};
}

}  // namespace fovea::nvrtc
