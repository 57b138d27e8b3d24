// ByteSource: where a reader gets its bytes, a file or memory. Reads have a bounded size that the caller chose; a file
// that shrinks meanwhile ends in a Failure, which a memory map could not promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tools/fovea/failure.h"

namespace fovea::cli {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `into` from `offset`; anything less is a Failure.
  virtual Outcome read(std::uint64_t offset, std::span<std::byte> into) const = 0;

  const std::string& name() const { return name_; }
  // A bad_file Failure that names this source.
  Failure failure(std::string code, std::uint64_t offset, std::string found, std::string allowed, std::string why = {},
                  std::string hint = {}) const;

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes) : ByteSource(std::move(name)), bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Outcome read(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::span<const std::byte> bytes_;
};

// Only regular files: directories, pipes and devices are refused.
Result<std::shared_ptr<ByteSource>> open_file(const std::string& path);

}  // namespace fovea::cli
