// What can be said about one tensor view alone: is it sound, which bytes does it span, does it overlap itself.
// Tests are inline and the refusals are built out of line: a call that succeeds runs the tests alone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "core/dtype.h"
#include "core/error.h"

namespace fovea {

// Extents stop here, so that sums of positions, offsets and windows fit 64 bits with room.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

// A tensor argument with the name that messages use.
struct Arg {
  const char* name;
  const fovea_tensor* tensor;
};

inline bool present(const fovea_tensor& t) { return t.rank != 0; }
inline bool has_no_element(const fovea_tensor& t) {
  bool empty = false;
  for (std::int32_t d = 0; d < t.rank; ++d) empty |= t.shape[d] == 0;
  return empty;
}
// fovea_dtype{}, whose size is 0, for a number that names no dtype.
inline fovea_dtype dtype_of(const fovea_tensor& t) {
  return element_size(t.dtype) != 0 ? static_cast<fovea_dtype>(t.dtype) : fovea_dtype{};
}
// Same rank, same extents. Inlined for certain: then no list is built.
[[gnu::always_inline]] inline bool has_shape(const fovea_tensor& t, std::initializer_list<std::int64_t> shape) {
  if (t.rank != static_cast<std::int32_t>(shape.size())) return false;
  const std::int64_t* extent = t.shape;
  bool same = true;
  for (const std::int64_t wanted : shape) same &= *extent++ == wanted;
  return same;
}

// "[2, 128, 8, 64]"
std::string shape_text(const fovea_tensor& t);
std::string shape_text(std::initializer_list<std::int64_t> shape);

// Bytes [begin, end) that a view may touch; empty when it has no element.
struct ByteRange {
  std::uintptr_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
  bool intersects(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
// nullopt when an offset overflows 63 bits or leaves the address space. Needs a known dtype and a valid rank.
std::optional<ByteRange> byte_range(const fovea_tensor& t);

// True when two index tuples could name one element. Exact for every layout made by slicing, permuting or padding a
// contiguous buffer; refuses interleavings whose disjointness needs number theory.
bool may_overlap_itself(const fovea_tensor& t);

// Rank, device fields, dtype, extents, offsets, data pointer and alignment of a present view. `bytes`, empty so far,
// becomes its byte range.
Check check_tensor(Arg arg, ByteRange& bytes);

// A required view that is absent, or an absent one that carries data.
[[gnu::cold]] Error absence_error(Arg arg);
inline Check check_presence(Arg arg, bool required) {
  if (present(*arg.tensor) || (arg.tensor->data == nullptr && !required)) return {};
  return absence_error(arg);
}

// `t.shape` equals `shape` (same rank), else `status` with `meaning` ("[batch, seqlen_q, ...]") in the message.
[[gnu::cold]] Error shape_error(Arg arg, std::initializer_list<std::int64_t> shape, const char* meaning,
                                fovea_status status);
[[gnu::always_inline]] inline Check check_shape(Arg arg, std::initializer_list<std::int64_t> shape, const char* meaning,
                                                fovea_status status) {
  if (has_shape(*arg.tensor, shape)) return {};
  return shape_error(arg, shape, meaning, status);
}

[[gnu::cold]] Error rank_error(Arg arg, std::int32_t rank, const char* meaning);
inline Check check_rank(Arg arg, std::int32_t rank, const char* meaning) {
  if (arg.tensor->rank == rank) return {};
  return rank_error(arg, rank, meaning);
}

}  // namespace fovea
