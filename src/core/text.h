// cat: joins texts and numbers into one string, independent of the locale. Used on refusal and report paths only;
// a call that succeeds formats nothing.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace fovea {

inline void append_text(std::string& out, std::string_view value) { out += value; }
// A template, so that a pointer never turns into a bool.
template <std::same_as<bool> T>
void append_text(std::string& out, T value) {
  out += value ? "true" : "false";
}

template <class T>
requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) void append_text(std::string& out, T value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace fovea
