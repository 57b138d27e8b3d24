// What fuzzers of the C ABI share: the input as numbers, tensors over real memory and bent ones, laws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tests/contiguous_view.h"

namespace fovea::fuzz {

using test::contiguous_view;

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

// One of the dtypes of q, k, v and out.
inline fovea_dtype float_dtype(Bytes& bytes) { return static_cast<fovea_dtype>(1 + bytes.below(3)); }

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

// Up to three such changes, among `views`; false when there was none.
inline bool bend_some(Bytes& bytes, std::span<fovea_tensor* const> views) {
  const std::int64_t bends = bytes.below(4);
  for (std::int64_t i = 0; i < bends; ++i) {
    bend(bytes, *views[static_cast<std::size_t>(bytes.below(static_cast<std::int64_t>(views.size())))]);
  }
  return bends != 0;
}

// One thread, and the model as it comes.
inline fovea_context* make_context() {
  fovea_context_args args{sizeof(fovea_context_args), 1, 0, 0, 0, 0};
  fovea_context* made = nullptr;
  fovea_context_create(&args, &made, nullptr);
  return made;
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
