// Files through open/fstat/pread: no stream state, no signals, EINTR handled.
#include "tools/fovea/io/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fovea::cli {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, int fd, std::uint64_t size) : ByteSource(std::move(name)), fd_(fd), size_(size) {}
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }

  Outcome read(std::uint64_t offset, std::span<std::byte> into) const override {
    while (!into.empty()) {
      constexpr std::size_t kMaxRead = std::size_t{1} << 30;
      const ssize_t got = ::pread(fd_, into.data(), std::min(into.size(), kMaxRead), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure("file_read", offset, std::strerror(errno), "a readable file");
      if (got == 0) return failure("file_shrunk", offset, "end of file", "a file that keeps its size while it is read");
      into = into.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    return std::nullopt;
  }

 private:
  int fd_;
  std::uint64_t size_;
};

Failure cannot_open(const std::string& path, std::string code, std::string found) {
  return {.exit = ExitCode::bad_file,
          .code = std::move(code),
          .found = std::move(found),
          .allowed = "a readable regular file",
          .why = {},
          .hint = {},
          .file = path,
          .offset = {}};
}

}  // namespace

Failure ByteSource::failure(std::string code, std::uint64_t offset, std::string found, std::string allowed,
                            std::string why, std::string hint) const {
  return {.exit = ExitCode::bad_file,
          .code = std::move(code),
          .found = std::move(found),
          .allowed = std::move(allowed),
          .why = std::move(why),
          .hint = std::move(hint),
          .file = name_,
          .offset = offset};
}

Outcome MemorySource::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
    return failure("file_shrunk", offset, "end of data", "data that reaches as far as its header says");
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  return std::nullopt;
}

Result<std::shared_ptr<ByteSource>> open_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer; it has no effect on regular files.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return cannot_open(path, "file_open", std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0) {
    const bool directory = S_ISDIR(info.st_mode);
    ::close(fd);
    return cannot_open(path, "file_kind", directory ? "a directory" : "not a regular file");
  }
  return std::shared_ptr<ByteSource>(std::make_shared<FileSource>(path, fd, static_cast<std::uint64_t>(info.st_size)));
}

}  // namespace fovea::cli
