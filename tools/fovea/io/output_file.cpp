// mkstemp in the target's own directory, so that rename() stays within one file system.
#include "tools/fovea/io/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fovea::cli {
namespace {

Failure cannot_write(const std::string& path, const std::string& action, int error) {
  return {.exit = ExitCode::bad_file,
          .code = "file_write",
          .found = action + ": " + std::strerror(error),
          .allowed = "a path in a directory that can be written",
          .why = {},
          .hint = {},
          .file = path,
          .offset = {}};
}

// mkstemp makes private files; give the permissions that a plain open() would have given.
void apply_umask(int fd) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, static_cast<mode_t>(0666U & ~mask));
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Failure OutputFile::failure(const char* action, int error) const { return cannot_write(path_, action, error); }

Result<OutputFile> OutputFile::create(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return cannot_write(path, "create", EISDIR);
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return cannot_write(path, "create", errno);
  apply_umask(fd);
  return OutputFile(path, std::move(temporary), fd);
}

Outcome OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return std::nullopt;
}

Outcome OutputFile::commit() {
  if (::close(std::exchange(fd_, -1)) != 0) return failure("close", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("rename", errno);
  temporary_.clear();
  return std::nullopt;
}

}  // namespace fovea::cli
