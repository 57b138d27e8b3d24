// Hashing and naming of bundled sources.
#include "jit/bundle.h"

#include <utility>

#include "jit/sha256.h"

namespace fovea {

Bundle::Bundle(std::vector<BundleFile> files) : files_(std::move(files)) {
  Sha256 all;
  for (const BundleFile& file : files_) {
    all.field(file.path);
    all.field(file.text);
  }
  hash_ = hex(all.finish());
}

Bundle Bundle::below(std::span<const std::string_view> roots, std::string_view except) const {
  std::vector<BundleFile> found;
  for (const BundleFile& file : files_) {
    const bool wanted = !include_name(file.path, roots).empty();
    if (wanted && (except.empty() || !file.path.starts_with(except))) found.push_back(file);
  }
  return Bundle(std::move(found));
}

Bundle embedded_bundle() {
  const std::span<const BundleFile> files = embedded_files();
  return Bundle({files.begin(), files.end()});
}

std::string_view include_name(std::string_view path, std::span<const std::string_view> roots) {
  std::string_view longest;
  for (const std::string_view root : roots) {
    if (path.starts_with(root) && root.size() > longest.size()) longest = root;
  }
  return longest.empty() ? std::string_view{} : path.substr(longest.size());
}

}  // namespace fovea
