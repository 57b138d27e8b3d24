// What can be said about one tensor view alone: is it sound, which bytes does it span, does it overlap itself.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

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
bool has_no_element(const fovea_tensor& t);
// fovea_dtype{}, whose size is 0, for a number that names no dtype.
fovea_dtype dtype_of(const fovea_tensor& t);

// "[2, 128, 8, 64]"
std::string shape_text(const fovea_tensor& t);
std::string shape_text(std::initializer_list<std::int64_t> shape);

// Bytes [begin, end) that a view may touch; empty when it has no element.
struct ByteRange {
  std::uintptr_t begin = 0, end = 0;
  bool intersects(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
// nullopt when an offset overflows 63 bits or leaves the address space. Needs a known dtype and a valid rank.
std::optional<ByteRange> byte_range(const fovea_tensor& t);

// True when two index tuples could name one element. Exact for every layout made by slicing, permuting or padding a
// contiguous buffer; refuses interleavings whose disjointness needs number theory.
bool may_overlap_itself(const fovea_tensor& t);

// Rank, device fields, dtype, extents, offsets, data pointer and alignment of a present view.
Check check_tensor(const Arg& arg);

// A required view that is absent, or an absent one that carries data.
Check check_presence(const Arg& arg, bool required);

// `t.shape` equals `shape` (same rank), else `status` with `meaning` ("[batch, seqlen_q, ...]") in the message.
Check check_shape(const Arg& arg, std::initializer_list<std::int64_t> shape, const char* meaning, fovea_status status);
Check check_rank(const Arg& arg, std::int32_t rank, const char* meaning);

}  // namespace fovea
