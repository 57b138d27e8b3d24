// Error and Result: how everything below the C ABI reports a refusal.
// An Error is complete by construction: what was asked, what is allowed, why, and what to do instead (contract section
// 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "fovea/fovea.h"

namespace fovea {

struct Error {
  fovea_status status = FOVEA_INTERNAL;
  std::string asked;
  std::string allowed;
  std::string why;
  std::string hint;
};

// "head_ratio: asked ...; allowed ...; why; hint" on one line.
std::string to_string(const Error& error);

// The smallest fovea_error that can carry a status and its code.
inline constexpr std::uint64_t kMinErrorSize = offsetof(fovea_error, asked);

// Writes `error` into the caller's struct, truncating texts and never writing past its struct_size; `out` may be null.
// Returns the status.
fovea_status report(const Error& error, fovea_error* out);

// A value or an Error. No exceptions: call ok() first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  const T& value() const { return std::get<0>(state_); }
  T& value() { return std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error. As wide as a pointer, for a call that succeeds passes dozens of them.
class [[nodiscard]] Check {
 public:
  Check() = default;                                           // fine
  Check(Error error) : error_(new Error(std::move(error))) {}  // NOLINT(google-explicit-constructor)

  // True when there is an Error, which compilers take for the likely case of a pointer unless told.
  explicit operator bool() const { return __builtin_expect(error_ != nullptr, false); }
  Error& operator*() & { return *error_; }
  const Error& operator*() const& { return *error_; }
  Error&& operator*() && { return std::move(*error_); }
  Error* operator->() { return error_.get(); }
  const Error* operator->() const { return error_.get(); }

 private:
  struct Delete {
    [[gnu::cold]] void operator()(Error* error) const;  // out of line, so that a Check that is fine only compares
  };
  std::unique_ptr<Error, Delete> error_;
};

}  // namespace fovea
