// Files as the cache and the host compiler need them: whole reads, atomic publication, directories that vanish.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/bytes.h"

namespace fovea {

// The whole of a regular file; nothing when it cannot be read, is no regular file, or is larger than `limit`.
std::optional<Bytes> read_file(const std::string& path, std::size_t limit);

// Makes `path` appear with this content, whole or not at all: a new file in the same directory, then a rename over
// whatever is there. On failure nothing of it is left and `reason` says why.
bool publish_file(const std::string& path, std::string_view content, std::string& reason);

// Makes a directory and its parents, readable by this user alone.
bool make_private_directories(const std::string& path, std::string& reason);

// A directory of one's own that is removed, with what is in it, at the end of its life.
class ScratchDirectory {
 public:
  ScratchDirectory();  // below the system's directory for temporary files
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  // Empty when none could be made; then reason() says why.
  const std::string& path() const { return path_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string path_;
  std::string reason_;
};

// How the temporary files of publish_file() begin, so that leftovers of killed processes can be told.
inline constexpr std::string_view kTemporaryPrefix = ".fovea-new-";

}  // namespace fovea
