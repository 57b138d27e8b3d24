// What fuzzers of the C ABI share: the input as numbers, tensors over real memory and bent ones, laws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "fovea/fovea.h"

namespace fovea::fuzz {

// Hands out the input; zeros when it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), left_);
    if (count != 0) std::memcpy(&value, data_, count);
    data_ += count;
    left_ -= count;
    return value;
  }
  std::int64_t below(std::int64_t bound) { return take<std::uint8_t>() % bound; }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

inline fovea_tensor contiguous(void* data, fovea_dtype dtype, std::initializer_list<std::int64_t> shape) {
  fovea_tensor t{};
  t.data = data;
  t.dtype = dtype;
  for (const std::int64_t extent : shape) t.shape[t.rank++] = extent;
  std::int64_t step = 1;
  for (std::int32_t d = t.rank - 1; d >= 0; --d) {
    t.strides[d] = step;
    step *= std::max<std::int64_t>(t.shape[d], 1);
  }
  return t;
}

// Changes one thing about a view, to anything.
inline void bend(Bytes& bytes, fovea_tensor& t) {
  const auto dim = static_cast<std::size_t>(bytes.below(FOVEA_MAX_RANK));
  switch (bytes.below(6)) {
    case 0:
      t.dtype = bytes.take<std::int8_t>();
      break;
    case 1:
      t.rank = bytes.take<std::int8_t>();
      break;
    case 2:
      t.shape[dim] = bytes.one_in(2) ? bytes.take<std::int64_t>() : bytes.below(9);
      break;
    case 3:
      t.strides[dim] = bytes.one_in(2) ? bytes.take<std::int64_t>() : bytes.below(64) - 32;
      break;
    case 4:
      t.device_type = bytes.take<std::int8_t>();
      break;
    default:
      t.data = reinterpret_cast<void*>(bytes.take<std::uintptr_t>());
      break;
  }
}

inline void require(bool law, const char* text) {
  if (law) return;
  std::fputs(text, stderr);
  std::abort();
}

inline bool has_texts(const fovea_error& error) {
  return error.asked[0] != 0 && error.allowed[0] != 0 && error.why[0] != 0 && error.hint[0] != 0;
}

}  // namespace fovea::fuzz
