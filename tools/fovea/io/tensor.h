// Tensor: a typed, strided view of memory that it shares, as read from a file. It knows no attention terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/fovea/io/buffer.h"
#include "tools/fovea/io/element_type.h"

namespace fovea::cli {

struct Tensor {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  std::shared_ptr<Buffer> storage;
  std::byte* data = nullptr;

  std::size_t rank() const { return shape.size(); }
};

// No file may have more dimensions than this.
inline constexpr std::size_t kMaxFileRank = 8;

// Elements of `shape`, or nullopt when an extent is negative or bytes would not fit 63 bits (a 0 does not hide the
// rest).
std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape, std::size_t element_size);

// Strides of a dense tensor; last index fastest (C) or first index fastest (Fortran). `shape` has passed
// checked_count().
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape, bool fortran_order);

// A dense C-order tensor with uninitialised elements; data is null when memory is short or the shape overflows.
Tensor make_tensor(ElementType type, std::vector<std::int64_t> shape);

bool is_dense(const Tensor& tensor);                          // C order, no gaps
std::string shape_text(std::span<const std::int64_t> shape);  // "[2, 8, 128]"

}  // namespace fovea::cli
