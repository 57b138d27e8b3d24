// Failure and Result: how the fovea tool reports what went wrong, and the exit codes it ends with.
// A Failure says what was found, what is allowed, why, and what to do; printing it is print_failure()'s business.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace fovea::cli {

// Stable: scripts rely on these numbers (docs/cli.md).
enum class ExitCode : int {
  ok = 0,
  failures_found = 1,  // a check ran and found wrong results
  usage = 2,           // bad option or option value
  bad_file = 3,        // an input file is missing, malformed or too large, or an output cannot be written
  refused = 4,         // the library refused the call
  internal = 5         // a fault of fovea, or of the machine
};

struct Failure {
  ExitCode exit = ExitCode::internal;
  std::string code;                     // stable name: "npy_truncated", "head_ratio"
  std::string found;                    // what was found or asked for
  std::string allowed;                  // what is allowed
  std::string why;                      // the reason; may be empty
  std::string hint;                     // what to do instead; may be empty
  std::string file;                     // empty when no file is concerned
  std::optional<std::uint64_t> offset;  // byte offset in `file`
};

// One that concerns no file.
inline Failure make_failure(ExitCode exit, std::string code, std::string found, std::string allowed = {},
                            std::string why = {}, std::string hint = {}) {
  return {.exit = exit,
          .code = std::move(code),
          .found = std::move(found),
          .allowed = std::move(allowed),
          .why = std::move(why),
          .hint = std::move(hint),
          .file = {},
          .offset = {}};
}

void print_failure(const Failure& failure, std::ostream& err);

// A value or a Failure. No exceptions: call ok() first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Failure failure)
      : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  const T& value() const { return std::get<0>(state_); }
  T& value() { return std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

// Success (nullopt) or a Failure.
using Outcome = std::optional<Failure>;

}  // namespace fovea::cli
