// Buffer: 64-byte-aligned memory of a tensor. Allocation may fail and says so; it never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fovea::cli {

class Buffer {
 public:
  // Uninitialised memory; null when `bytes` is more than the machine has.
  static std::shared_ptr<Buffer> allocate(std::uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  Buffer(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

}  // namespace fovea::cli
