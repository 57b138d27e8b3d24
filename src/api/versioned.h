// Size-versioned argument structs: how a caller built against another version of fovea.h is understood.
// A smaller size that some version had is zero-extended; bytes past the newest known field must be zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/error.h"

namespace fovea {

// Checks the size that the caller claims for the struct `name` at `args`. `known` lists the sizes of all versions,
// ascending; the last is this library's.
Check check_struct_size(const char* name, const void* args, std::uint64_t claimed,
                        std::span<const std::uint64_t> known);

// Copies a versioned struct whose first field is struct_size. `args` must not be null.
template <class T>
Result<T> read_versioned(const char* name, const T* args, std::span<const std::uint64_t> known) {
  std::uint64_t claimed = 0;
  std::memcpy(&claimed, args, sizeof(claimed));
  if (Check bad = check_struct_size(name, args, claimed, known)) return *std::move(bad);
  T copy{};
  std::memcpy(&copy, args, claimed < sizeof(T) ? static_cast<std::size_t>(claimed) : sizeof(T));
  return copy;
}

Error null_pointer(const char* name);

// FOVEA_OK, or the status to return at once when the caller's error struct is unusable.
fovea_status check_error_struct(const fovea_error* error);

}  // namespace fovea
