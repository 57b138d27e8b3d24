// SharedLibrary: an opened shared object and its symbols. Nothing of CUDA is linked; everything comes through here.
// Which file to open and which symbols are needed is decided by driver.cpp and nvrtc.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace fovea {

class SharedLibrary {
 public:
  SharedLibrary() = default;

  // CUDA's libraries keep threads and do not survive being closed; a kernel module for the model does.
  enum class Unload { never, with_last_copy };

  // Opens a path, or a bare name that the system loader looks for. On failure the loader's own words go to `reason`.
  static std::optional<SharedLibrary> open(const std::string& name, Unload unload, std::string& reason);
  // The library of that name (DT_SONAME) when this process has it loaded already.
  static std::optional<SharedLibrary> loaded(const std::string& name);

  // Null when the library has no such symbol.
  void* symbol(const char* name) const;

 private:
  explicit SharedLibrary(void* handle);
  std::shared_ptr<void> handle_;
};

// The file that holds `address`; empty when none does.
std::string file_of_address(const void* address);

}  // namespace fovea
