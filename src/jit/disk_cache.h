// DiskCache: compiled kernels in a directory, found by content. Any number of processes may read and write it at once
// without locks: entries appear whole by rename, carry a checksum, and equal names mean equal contents. A damaged entry
// is a miss. What goes into a key is the caller's business (jit.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/bytes.h"

namespace fovea {

struct CacheKey {
  std::string digest;    // SHA-256 in hexadecimal over everything that decides the content, but the compiler
  std::string compiler;  // "nvrtc-13.0"
  std::string kind;      // "cubin", "so"
  std::string label;     // for people: "fwd_mma sm_90a"

  std::string file_name() const;  // "<digest>.<compiler>.<kind>"
};

struct CacheEntry {
  std::string file;  // name below the directory
  std::string label;
  std::uint64_t bytes = 0;  // of the file
  std::string problem;      // empty when the entry is whole
};

class DiskCache {
 public:
  // An empty directory switches the cache off: nothing is found, nothing is kept.
  explicit DiskCache(std::string directory);

  const std::string& directory() const { return directory_; }

  std::optional<Bytes> load(const CacheKey& key) const;
  // What any compiler made of it, for machines that have none; the newest compiler's by name.
  std::optional<Bytes> load_of_any_compiler(const CacheKey& key) const;
  // False, with the reason, when it could not be kept; the caller has the bytes all the same.
  bool store(const CacheKey& key, const Bytes& bytes, std::string& reason) const;

  // All entries, checked, sorted by label.
  std::vector<CacheEntry> entries() const;
  // Removes entries and leftovers of killed processes, nothing else. Returns how many files went.
  std::size_t clear() const;

 private:
  std::string directory_;
};

}  // namespace fovea
