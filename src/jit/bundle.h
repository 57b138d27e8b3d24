// Bundle: the device and model sources as text, and one hash over all of them. embedded_bundle() is what the build put
// into the library (cmake/FoveaBundle.cmake); tests make bundles of their own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct BundleFile {
  std::string_view path;  // from the root of the tree: "device/isa_ptx/isa/mma.h"
  std::string_view text;
};

class Bundle {
 public:
  explicit Bundle(std::vector<BundleFile> files);

  std::span<const BundleFile> files() const { return files_; }
  // The files below one of `roots` and not below `except`: what one side's compiler may see.
  Bundle below(std::span<const std::string_view> roots, std::string_view except) const;
  // SHA-256 over all paths and texts, in hexadecimal.
  const std::string& hash() const { return hash_; }

 private:
  std::vector<BundleFile> files_;
  std::string hash_;
};

// The files that the build embedded, sorted by path. Defined in a generated source.
std::span<const BundleFile> embedded_files();
Bundle embedded_bundle();

// The name by which kernels include the file when the compiler looks below `roots` ("device/"); empty when the file
// lies below none. The longest root wins.
std::string_view include_name(std::string_view path, std::span<const std::string_view> roots);

}  // namespace fovea
