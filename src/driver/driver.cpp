// Loads the table of driver.h. libcuda.so.1 is the driver's own library; the toolkit's stub has another name and is
// never opened.
#include "driver/driver.h"

#include "core/text.h"

namespace fovea::cuda {
namespace {

// cuLibraryLoadData and the cubins of today's NVRTC need this driver API.
constexpr int kMinVersion = 12000;

std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

Error unusable(std::string allowed, std::string why, std::string hint) {
  return {.status = FOVEA_NO_BACKEND,
          .asked = "the CUDA driver",
          .allowed = std::move(allowed),
          .why = std::move(why),
          .hint = std::move(hint)};
}

// The first function of the list that the library lacks; empty when it has all.
std::string fill(Driver& driver) {
  std::string missing;
#define FOVEA_LOAD(name, symbol_name, ...)                                                             \
  driver.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(driver.library.symbol(symbol_name)); \
  if (driver.name == nullptr && missing.empty()) missing = symbol_name;
  FOVEA_DRIVER_FUNCTIONS(FOVEA_LOAD)
#undef FOVEA_LOAD
  return missing;
}

}  // namespace

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  return cat(name == nullptr ? "unknown error" : name, " (", static_cast<int>(result), ")", text == nullptr ? "" : ": ",
             text == nullptr ? "" : text);
}

Error driver_error(const Driver& driver, CUresult result, const std::string& what) {
  const bool memory = result == CUDA_ERROR_OUT_OF_MEMORY;
  return {.status = memory ? FOVEA_OUT_OF_MEMORY : FOVEA_DEVICE,
          .asked = what,
          .allowed = "a driver call that succeeds",
          .why = describe(driver, result),
          .hint = memory ? "free device memory" : "an error of an earlier kernel also shows here; see fovea doctor"};
}

Result<Driver> load_driver(const std::string& name) {
  Driver driver;
  std::string reason;
  const auto library = SharedLibrary::open(name, SharedLibrary::Unload::never, reason);
  if (!library) return unusable(cat("a machine with ", name), reason, "install the NVIDIA driver, or use the cpu");
  driver.library = *library;
  if (const std::string missing = fill(driver); !missing.empty()) {
    return unusable("a driver for CUDA 12.0 or later", cat(name, " has no function ", missing),
                    "update the NVIDIA driver");
  }
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
    return unusable("a driver that starts and finds a GPU", cat("cuInit: ", describe(driver, result)),
                    "nvidia-smi shows what the driver sees; CUDA_VISIBLE_DEVICES may hide GPUs");
  }
  driver.cuDriverGetVersion(&driver.version);
  if (driver.version < kMinVersion) {
    return unusable(cat("CUDA ", version_text(kMinVersion), " or later"),
                    cat("the driver speaks CUDA ", version_text(driver.version)), "update the NVIDIA driver");
  }
  return driver;
}

}  // namespace fovea::cuda
