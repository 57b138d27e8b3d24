// The rules behind struct_size, and the two refusals that every entry point shares.
#include "api/versioned.h"

#include <algorithm>
#include <string>

#include "core/text.h"

namespace fovea {
namespace {

// No future struct will be larger; a larger claim is an uninitialised field, and is not followed into memory.
constexpr std::uint64_t kMaxStructSize = 1U << 14U;

std::string sizes_text(std::span<const std::uint64_t> known) {
  std::string out;
  for (const std::uint64_t size : known) out += cat(out.empty() ? "" : ", ", size);
  return out;
}

}  // namespace

Check check_struct_size(const char* name, const void* args, std::uint64_t claimed,
                        std::span<const std::uint64_t> known) {
  if (std::find(known.begin(), known.end(), claimed) != known.end()) return {};
  Error error{.status = FOVEA_STRUCT_SIZE,
              .asked = cat(name, ".struct_size=", claimed),
              .allowed = cat(sizes_text(known), " bytes, or a larger struct that is zero past byte ", known.back()),
              .why = "the size tells which version of the struct the caller was built with",
              .hint = cat("zero-initialise the struct and set struct_size = sizeof(", name, ")")};
  if (claimed < known.back() || claimed > kMaxStructSize) return error;
  const auto* bytes = static_cast<const unsigned char*>(args);
  const auto* unknown = std::find_if(bytes + known.back(), bytes + claimed, [](unsigned char b) { return b != 0; });
  if (unknown == bytes + claimed) return {};
  error.asked = cat(name, ".struct_size=", claimed, " with a value at byte ", unknown - bytes);
  error.why = "the caller sets a field that this version of the library does not know";
  error.hint = "update the library, or leave fields that are newer than it zero";
  return error;
}

Error null_pointer(const char* name) {
  return {.status = FOVEA_NULL_POINTER,
          .asked = cat(name, " = NULL"),
          .allowed = cat("a valid pointer for ", name),
          .why = "the call reads or writes through it",
          .hint = cat("pass ", name)};
}

fovea_status check_error_struct(const fovea_error* error) {
  if (error == nullptr || error->struct_size >= kMinErrorSize) return FOVEA_OK;
  return FOVEA_STRUCT_SIZE;
}

}  // namespace fovea
