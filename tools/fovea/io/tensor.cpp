// Shape arithmetic of Tensor, all of it checked against overflow.
#include "tools/fovea/io/tensor.h"

#include <algorithm>

namespace fovea::cli {

std::optional<std::int64_t> checked_count(std::span<const std::int64_t> shape, std::size_t element_size) {
  bool empty = false;
  std::int64_t bytes = static_cast<std::int64_t>(element_size);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes / static_cast<std::int64_t>(element_size);
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape, bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const std::size_t axis = fortran_order ? n : shape.size() - 1 - n;
    strides[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

Tensor make_tensor(ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.type = type;
  const std::optional<std::int64_t> count = checked_count(shape, element_size(type));
  tensor.shape = std::move(shape);
  if (!count) return tensor;
  tensor.strides = dense_strides(tensor.shape, false);
  tensor.storage = Buffer::allocate(static_cast<std::uint64_t>(*count) * element_size(type));
  if (tensor.storage) tensor.data = tensor.storage->data();
  return tensor;
}

bool is_dense(const Tensor& tensor) { return tensor.strides == dense_strides(tensor.shape, false); }

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t n = 0; n < shape.size(); ++n) text += (n == 0 ? "" : ", ") + std::to_string(shape[n]);
  return text + "]";
}

}  // namespace fovea::cli
