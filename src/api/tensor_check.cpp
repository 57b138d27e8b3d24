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

Check check_extents(const Arg& arg) {
  const fovea_tensor& t = *arg.tensor;
  std::int64_t elements = 1;
  bool overflow = false;
  for (const std::int64_t extent : shape_of(t)) {
    if (extent < 0 || extent > kMaxExtent) {
      return Error{.status = FOVEA_SHAPE,
                   .asked = cat(arg.name, ".shape=", shape_text(t)),
                   .allowed = cat("extents from 0 to ", kMaxExtent),
                   .why = "positions and offsets are added in 64-bit integers",
                   .hint = cat("correct the shape of ", arg.name)};
    }
    overflow = __builtin_mul_overflow(elements, extent, &elements) || overflow;
  }
  if (has_no_element(t) || (!overflow && byte_range(t).has_value())) return {};
  return Error{.status = FOVEA_STRIDE_OVERFLOW,
               .asked = cat(arg.name, ".shape=", shape_text(t), " strides=", strides_text(t)),
               .allowed = "element counts and byte offsets that fit 63 bits and stay in the address space",
               .why = "the address of an element would wrap around",
               .hint = cat("correct the strides of ", arg.name, ", which count elements, not bytes")};
}

Check check_pointer(const Arg& arg) {
  const fovea_tensor& t = *arg.tensor;
  if (has_no_element(t)) return {};
  if (t.data == nullptr) {
    return Error{.status = FOVEA_NULL_POINTER,
                 .asked = cat(arg.name, ".data = NULL with shape ", shape_text(t)),
                 .allowed = "NULL data only where an extent is 0",
                 .why = "the view has elements to read or write",
                 .hint = cat("point ", arg.name, ".data at them")};
  }
  const std::size_t size = fovea_dtype_size(dtype_of(t));
  if ((reinterpret_cast<std::uintptr_t>(t.data) & (size - 1)) == 0) return {};  // sizes are powers of two
  return Error{.status = FOVEA_ALIGNMENT,
               .asked = cat(arg.name, ".data at an address that is ", reinterpret_cast<std::uintptr_t>(t.data) % size,
                            " past a multiple of ", size),
               .allowed = cat("a multiple of ", size, ", the size of ", fovea_dtype_name(dtype_of(t))),
               .why = "elements are read and written whole",
               .hint = cat("copy ", arg.name, " to an aligned buffer")};
}

Check check_device(const Arg& arg) {
  const fovea_tensor& t = *arg.tensor;
  const bool known = t.device_type == FOVEA_DEVICE_CPU || t.device_type == FOVEA_DEVICE_CUDA;
  const bool id_fits = t.device_type == FOVEA_DEVICE_CPU ? t.device_id == 0 : t.device_id >= 0;
  if (known && id_fits) return {};
  return Error{.status = FOVEA_DEVICE,
               .asked = cat(arg.name, ".device_type=", t.device_type, " device_id=", t.device_id),
               .allowed = "device_type FOVEA_DEVICE_CPU with device_id 0, or FOVEA_DEVICE_CUDA with device_id >= 0",
               .why = "the device says where the data lives and who may read it",
               .hint = cat("set the device fields of ", arg.name, "; both are 0 for CPU memory")};
}

}  // namespace

bool has_no_element(const fovea_tensor& t) {
  const auto shape = shape_of(t);
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

fovea_dtype dtype_of(const fovea_tensor& t) {
  const bool known = t.dtype >= FOVEA_F32 && t.dtype <= FOVEA_I32;
  return known ? static_cast<fovea_dtype>(t.dtype) : fovea_dtype{};
}

std::string shape_text(const fovea_tensor& t) { return list_text(shape_of(t)); }
std::string shape_text(std::initializer_list<std::int64_t> shape) { return list_text({shape.begin(), shape.size()}); }

std::optional<ByteRange> byte_range(const fovea_tensor& t) {
  if (has_no_element(t)) return ByteRange{};
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int32_t d = 0; d < t.rank; ++d) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(t.shape[d] - 1, t.strides[d], &reach)) return std::nullopt;
    std::int64_t& side = reach < 0 ? low : high;
    if (__builtin_add_overflow(side, reach, &side)) return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(fovea_dtype_size(dtype_of(t)));
  if (__builtin_mul_overflow(low, size, &low)) return std::nullopt;
  if (__builtin_add_overflow(high, 1, &high) || __builtin_mul_overflow(high, size, &high)) return std::nullopt;
  const auto base = reinterpret_cast<std::uintptr_t>(t.data);
  ByteRange range;
  if (__builtin_add_overflow(base, low, &range.begin)) return std::nullopt;
  if (__builtin_add_overflow(base, high, &range.end)) return std::nullopt;
  return range;
}

bool may_overlap_itself(const fovea_tensor& t) {
  if (has_no_element(t)) return false;
  struct Dim {
    std::uint64_t stride, steps;
  };
  std::array<Dim, FOVEA_MAX_RANK> dims{};
  std::size_t count = 0;
  for (std::int32_t d = 0; d < t.rank; ++d) {
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

Check check_tensor(const Arg& arg) {
  const fovea_tensor& t = *arg.tensor;
  if (t.rank < 1 || t.rank > FOVEA_MAX_RANK) {
    return Error{.status = FOVEA_RANK,
                 .asked = cat(arg.name, ".rank=", t.rank),
                 .allowed = cat("1 to ", FOVEA_MAX_RANK, ", or 0 for an absent tensor"),
                 .why = "the rank says how many shape and stride entries count",
                 .hint = cat("set ", arg.name, ".rank to the number of dimensions")};
  }
  if (fovea_dtype_size(dtype_of(t)) == 0) {
    return Error{.status = FOVEA_DTYPE,
                 .asked = cat(arg.name, ".dtype=", t.dtype),
                 .allowed = "a value of fovea_dtype",
                 .why = "the number names no dtype of this version",
                 .hint = cat("set ", arg.name, ".dtype")};
  }
  if (Check bad = check_device(arg)) return bad;
  if (Check bad = check_extents(arg)) return bad;
  return check_pointer(arg);
}

Check check_presence(const Arg& arg, bool required) {
  const fovea_tensor& t = *arg.tensor;
  if (present(t)) return {};
  if (t.data != nullptr) {
    return Error{.status = FOVEA_RANK,
                 .asked = cat(arg.name, ".rank=0 with data"),
                 .allowed = cat("a rank from 1 to ", FOVEA_MAX_RANK, " with data, or neither"),
                 .why = "rank 0 means absent, and a tensor that is given is never ignored",
                 .hint = cat("set ", arg.name, ".rank, or set ", arg.name, ".data to NULL")};
  }
  if (!required) return {};
  return Error{.status = FOVEA_NULL_POINTER,
               .asked = cat("no ", arg.name),
               .allowed = cat(arg.name, " is required"),
               .why = "the result depends on it",
               .hint = cat("set data, dtype, rank, shape and strides of ", arg.name)};
}

Check check_rank(const Arg& arg, std::int32_t rank, const char* meaning) {
  if (arg.tensor->rank == rank) return {};
  return Error{.status = FOVEA_RANK,
               .asked = cat(arg.name, " of rank ", arg.tensor->rank, ", shape ", shape_text(*arg.tensor)),
               .allowed = cat(arg.name, " ", meaning),
               .why = "every dimension has one meaning",
               .hint = cat("give ", arg.name, " as a view of rank ", rank, "; a missing dimension has extent 1")};
}

Check check_shape(const Arg& arg, std::initializer_list<std::int64_t> shape, const char* meaning, fovea_status status) {
  const auto have = shape_of(*arg.tensor);
  if (std::equal(have.begin(), have.end(), shape.begin(), shape.end())) return {};
  return Error{.status = status,
               .asked = cat(arg.name, " of shape ", shape_text(*arg.tensor)),
               .allowed = cat(arg.name, " ", meaning, " = ", shape_text(shape)),
               .why = "its extents follow from the other operands",
               .hint = cat("give ", arg.name, " in that shape, as a view with any strides")};
}

}  // namespace fovea
