// Soundness of single views. All arithmetic on caller-given extents and strides is overflow-checked.
#include "api/tensor_check.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/text.h"

namespace fovea {
namespace {

std::span<const std::int64_t> shape_of(const fovea_tensor& t) { return {t.shape, static_cast<std::size_t>(t.rank)}; }

std::string list_text(std::span<const std::int64_t> values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += cat(i == 0 ? "" : ", ", values[i]);
  return out + "]";
}

std::string strides_text(const fovea_tensor& t) { return list_text({t.strides, static_cast<std::size_t>(t.rank)}); }

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

[[gnu::cold]] Error unknown_rank(Arg arg) {
  return {.status = FOVEA_RANK,
          .asked = cat(arg.name, ".rank=", arg.tensor->rank),
          .allowed = cat("1 to ", FOVEA_MAX_RANK, ", or 0 for an absent tensor"),
          .why = "the rank says how many shape and stride entries count",
          .hint = cat("set ", arg.name, ".rank to the number of dimensions")};
}

[[gnu::cold]] Error unknown_dtype(Arg arg) {
  return {.status = FOVEA_DTYPE,
          .asked = cat(arg.name, ".dtype=", arg.tensor->dtype),
          .allowed = "a value of fovea_dtype",
          .why = "the number names no dtype of this version",
          .hint = cat("set ", arg.name, ".dtype")};
}

[[gnu::cold]] Error unknown_device(Arg arg) {
  return {.status = FOVEA_DEVICE,
          .asked = cat(arg.name, ".device_type=", arg.tensor->device_type, " device_id=", arg.tensor->device_id),
          .allowed = "device_type FOVEA_DEVICE_CPU with device_id 0, or FOVEA_DEVICE_CUDA with device_id >= 0",
          .why = "the device says where the data lives and who may read it",
          .hint = cat("set the device fields of ", arg.name, "; both are 0 for CPU memory")};
}

[[gnu::cold]] Error extent_out_of_range(Arg arg) {
  return {.status = FOVEA_SHAPE,
          .asked = cat(arg.name, ".shape=", shape_text(*arg.tensor)),
          .allowed = cat("extents from 0 to ", kMaxExtent),
          .why = "positions and offsets are added in 64-bit integers",
          .hint = cat("correct the shape of ", arg.name)};
}

[[gnu::cold]] Error uncountable(Arg arg) {
  return {.status = FOVEA_SHAPE,
          .asked = cat(arg.name, ".shape=", shape_text(*arg.tensor)),
          .allowed = "extents whose product fits 63 bits, those of 0 left out",
          .why = "rows, heads and sequences are multiplied in 64-bit integers, of empty tensors too",
          .hint = cat("correct the shape of ", arg.name)};
}

[[gnu::cold]] Error offsets_overflow(Arg arg) {
  return {.status = FOVEA_STRIDE_OVERFLOW,
          .asked = cat(arg.name, ".shape=", shape_text(*arg.tensor), " strides=", strides_text(*arg.tensor)),
          .allowed = "byte offsets that fit 63 bits and stay in the address space",
          .why = "the address of an element would wrap around",
          .hint = cat("correct the strides of ", arg.name, ", which count elements, not bytes")};
}

[[gnu::cold]] Error no_data(Arg arg) {
  return {.status = FOVEA_NULL_POINTER,
          .asked = cat(arg.name, ".data = NULL with shape ", shape_text(*arg.tensor)),
          .allowed = "NULL data only where an extent is 0",
          .why = "the view has elements to read or write",
          .hint = cat("point ", arg.name, ".data at them")};
}

[[gnu::cold]] Error misaligned(Arg arg) {
  const fovea_tensor& t = *arg.tensor;
  const std::size_t size = element_size(t.dtype);
  return {.status = FOVEA_ALIGNMENT,
          .asked = cat(arg.name, ".data at an address that is ", reinterpret_cast<std::uintptr_t>(t.data) % size,
                       " past a multiple of ", size),
          .allowed = cat("a multiple of ", size, ", the size of ", fovea_dtype_name(dtype_of(t))),
          .why = "elements are read and written whole",
          .hint = cat("copy ", arg.name, " to an aligned buffer")};
}

bool names_a_device(const fovea_tensor& t) {
  return t.device_type == FOVEA_DEVICE_CPU ? t.device_id == 0 : t.device_type == FOVEA_DEVICE_CUDA && t.device_id >= 0;
}

// One walk over a view's dimensions. What stands after `empty` counts only when no extent is 0.
struct Walk {
  bool extents_in_range;
  bool countable;  // the product of the extents fits, those of 0 left out
  bool empty;
  bool overflow;           // of an offset
  std::int64_t low, high;  // offsets of the furthest elements
};

Walk walk(const fovea_tensor& t) {
  // Plain variables, for fields whose address is taken stay in memory.
  bool in_range = true;
  bool uncounted = false;
  bool empty = false;
  bool overflow = false;
  std::int64_t elements = 1;
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int32_t d = 0; d < t.rank; ++d) {
    const std::int64_t extent = t.shape[d];
    std::int64_t last = 0;
    std::int64_t reach = 0;
    in_range &= static_cast<std::uint64_t>(extent) <= std::uint64_t{kMaxExtent};
    empty |= extent == 0;
    uncounted |= __builtin_mul_overflow(elements, std::max<std::int64_t>(extent, 1), &elements);
    overflow |= __builtin_sub_overflow(extent, 1, &last);
    overflow |= __builtin_mul_overflow(last, t.strides[d], &reach);
    overflow |= __builtin_add_overflow(low, std::min<std::int64_t>(reach, 0), &low);
    overflow |= __builtin_add_overflow(high, std::max<std::int64_t>(reach, 0), &high);
  }
  return {in_range, !uncounted, empty, overflow, low, high};
}

// Sets `bytes` to the bytes of the elements from w.low to w.high; false when an address overflows.
bool set_bytes(const fovea_tensor& t, const Walk& w, ByteRange& bytes) {
  const auto size = static_cast<std::int64_t>(element_size(t.dtype));
  const auto base = reinterpret_cast<std::uintptr_t>(t.data);
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool overflow = __builtin_mul_overflow(w.low, size, &low);
  overflow |= __builtin_add_overflow(w.high, 1, &high);
  overflow |= __builtin_mul_overflow(high, size, &high);
  overflow |= __builtin_add_overflow(base, low, &begin);
  overflow |= __builtin_add_overflow(base, high, &end);
  bytes = {begin, end};
  return !overflow;
}

}  // namespace

std::string shape_text(const fovea_tensor& t) { return list_text(shape_of(t)); }
std::string shape_text(std::initializer_list<std::int64_t> shape) { return list_text({shape.begin(), shape.size()}); }

std::optional<ByteRange> byte_range(const fovea_tensor& t) {
  const Walk w = walk(t);
  if (w.empty) return ByteRange{};
  ByteRange bytes;
  if (!w.countable || w.overflow || !set_bytes(t, w, bytes)) return std::nullopt;
  return bytes;
}

bool may_overlap_itself(const fovea_tensor& t) {
  if (has_no_element(t)) return false;
  struct Dim {
    std::uint64_t stride, steps;
  };
  std::array<Dim, FOVEA_MAX_RANK> dims;
  std::size_t count = 0;
  for (std::int32_t d = t.rank - 1; d >= 0; --d) {  // from the last: most views come sorted that way
    if (t.shape[d] <= 1) continue;
    const Dim dim{magnitude(t.strides[d]), static_cast<std::uint64_t>(t.shape[d] - 1)};
    std::size_t place = count++;  // insertion by stride, smallest first
    for (; place > 0 && dims[place - 1].stride > dim.stride; --place) dims[place] = dims[place - 1];
    dims[place] = dim;
  }
  std::uint64_t reach = 0;  // the furthest offset that the smaller strides can make; fits because byte_range() did
  for (std::size_t i = 0; i < count; ++i) {
    if (dims[i].stride <= reach) return true;
    reach += dims[i].stride * dims[i].steps;
  }
  return false;
}

Check check_tensor(Arg arg, ByteRange& bytes) {
  const fovea_tensor& t = *arg.tensor;
  if (t.rank < 1 || t.rank > FOVEA_MAX_RANK) return unknown_rank(arg);
  const std::size_t size = element_size(t.dtype);
  if (size == 0) return unknown_dtype(arg);
  if (!names_a_device(t)) return unknown_device(arg);
  const Walk w = walk(t);
  if (!w.extents_in_range) return extent_out_of_range(arg);
  if (!w.countable) return uncountable(arg);
  if (w.empty) return {};
  if (w.overflow || !set_bytes(t, w, bytes)) return offsets_overflow(arg);
  if (t.data == nullptr) return no_data(arg);
  if ((reinterpret_cast<std::uintptr_t>(t.data) & (size - 1)) != 0) return misaligned(arg);  // sizes are powers of two
  return {};
}

Error absence_error(Arg arg) {
  if (arg.tensor->data != nullptr) {
    return {.status = FOVEA_RANK,
            .asked = cat(arg.name, ".rank=0 with data"),
            .allowed = cat("a rank from 1 to ", FOVEA_MAX_RANK, " with data, or neither"),
            .why = "rank 0 means absent, and a tensor that is given is never ignored",
            .hint = cat("set ", arg.name, ".rank, or set ", arg.name, ".data to NULL")};
  }
  return {.status = FOVEA_NULL_POINTER,
          .asked = cat("no ", arg.name),
          .allowed = cat(arg.name, " is required"),
          .why = "the result depends on it",
          .hint = cat("set data, dtype, rank, shape and strides of ", arg.name)};
}

Error rank_error(Arg arg, std::int32_t rank, const char* meaning) {
  return {.status = FOVEA_RANK,
          .asked = cat(arg.name, " of rank ", arg.tensor->rank, ", shape ", shape_text(*arg.tensor)),
          .allowed = cat(arg.name, " ", meaning),
          .why = "every dimension has one meaning",
          .hint = cat("give ", arg.name, " as a view of rank ", rank, "; a missing dimension has extent 1")};
}

Error shape_error(Arg arg, std::initializer_list<std::int64_t> shape, const char* meaning, fovea_status status) {
  return {.status = status,
          .asked = cat(arg.name, " of shape ", shape_text(*arg.tensor)),
          .allowed = cat(arg.name, " ", meaning, " = ", shape_text(shape)),
          .why = "its extents follow from the other operands",
          .hint = cat("give ", arg.name, " in that shape, as a view with any strides")};
}

}  // namespace fovea
