// dlopen and friends. RTLD_LOCAL throughout: a library that fovea opens never serves another library's symbols.
#include "driver/shared_library.h"

#include <dlfcn.h>

namespace fovea {

SharedLibrary::SharedLibrary(void* handle)
    : handle_(handle, [](void* open) {
        if (open != nullptr) dlclose(open);
      }) {}

std::optional<SharedLibrary> SharedLibrary::open(const std::string& name, Unload unload, std::string& reason) {
  const int flags = RTLD_NOW | RTLD_LOCAL | (unload == Unload::never ? RTLD_NODELETE : 0);
  if (void* const handle = dlopen(name.c_str(), flags)) return SharedLibrary(handle);
  const char* const words = dlerror();
  reason = words == nullptr ? "unknown reason" : words;
  return std::nullopt;
}

std::optional<SharedLibrary> SharedLibrary::loaded(const std::string& name) {
  if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return SharedLibrary(handle);
  return std::nullopt;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_.get(), name);
}

std::string file_of_address(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace fovea
