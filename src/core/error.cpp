// Error texts, and their way into the caller's fovea_error, whose struct_size bounds every write.
#include "core/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/text.h"

namespace fovea {
namespace {

// Copies `text` into `field` at `offset` of the caller's struct, NUL-terminated, never past its first `size` bytes.
template <std::size_t N>
void write_field(char (&field)[N], std::size_t offset, std::uint64_t size, std::string_view text) {
  if (size <= offset) return;
  const std::size_t room = std::min<std::uint64_t>(N, size - offset);
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, room - length);
}

}  // namespace

void Check::Delete::operator()(Error* error) const { delete error; }

std::string to_string(const Error& error) {
  return cat(fovea_status_name(error.status), ": asked ", error.asked, "; allowed ", error.allowed, "; ", error.why,
             "; ", error.hint);
}

fovea_status report(const Error& error, fovea_error* out) {
  if (out == nullptr || out->struct_size < kMinErrorSize) return error.status;
  const std::uint64_t size = out->struct_size;
  out->status = error.status;
  write_field(out->code, offsetof(fovea_error, code), size, fovea_status_name(error.status));
  write_field(out->asked, offsetof(fovea_error, asked), size, error.asked);
  write_field(out->allowed, offsetof(fovea_error, allowed), size, error.allowed);
  write_field(out->why, offsetof(fovea_error, why), size, error.why);
  write_field(out->hint, offsetof(fovea_error, hint), size, error.hint);
  return error.status;
}

}  // namespace fovea
