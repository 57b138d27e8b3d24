// OutputFile: a file that appears whole or not at all. Bytes go to a temporary sibling; commit() renames it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/fovea/failure.h"

namespace fovea::cli {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  ~OutputFile();  // removes the temporary file unless committed
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  Outcome write(std::span<const std::byte> bytes);
  Outcome commit();

 private:
  OutputFile(std::string path, std::string temporary, int fd);
  Failure failure(const char* action, int error) const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace fovea::cli
