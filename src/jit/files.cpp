// POSIX files. There is no fsync: a file that a crash cut short fails its checksum and is made again.
#include "jit/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }
  // Closing reports what a network file system could not write.
  bool close_now() { return close(std::exchange(file_, -1)) == 0; }

 private:
  int file_;
};

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::optional<Bytes> read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size < 0 || static_cast<std::uint64_t>(info.st_size) > limit) return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

bool publish_file(const std::string& path, std::string_view content, std::string& reason) {
  std::string temporary = cat(fs::path(path).parent_path().string(), "/", kTemporaryPrefix, "XXXXXX");
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) {
    reason = cat("no new file in ", fs::path(path).parent_path().string(), ": ", std::strerror(errno));
    return false;
  }
  constexpr mode_t kReadableByAll = 0644;
  const bool written = write_all(file.get(), content) && fchmod(file.get(), kReadableByAll) == 0;
  const bool closed = file.close_now();
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  reason = cat("writing ", path, ": ", std::strerror(errno));
  unlink(temporary.c_str());
  return false;
}

bool make_private_directories(const std::string& path, std::string& reason) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return true;
  const std::string parent = fs::path(path).parent_path().string();
  if (!parent.empty() && parent != path && !make_private_directories(parent, reason)) return false;
  constexpr mode_t kPrivate = 0700;
  if (mkdir(path.c_str(), kPrivate) == 0 || errno == EEXIST) return true;
  reason = cat("making ", path, ": ", std::strerror(errno));
  return false;
}

ScratchDirectory::ScratchDirectory() {
  std::error_code failure;
  std::string pattern = (fs::temp_directory_path(failure) / "fovea-XXXXXX").string();
  if (failure || mkdtemp(pattern.data()) == nullptr) {
    reason_ = failure ? failure.message() : std::string(std::strerror(errno));
    return;
  }
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace fovea
