// JsonWriter: just enough JSON for explain and doctor; the core links to no JSON library.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "core/text.h"

namespace fovea {

class JsonWriter {
 public:
  void begin_object(std::string_view key = {}) { open(key, '{'); }
  void end_object() { close('}'); }
  void begin_array(std::string_view key = {}) { open(key, '['); }
  void end_array() { close(']'); }
  void null(std::string_view key) { begin_value(key), text_ += "null"; }

  void member(std::string_view key, std::string_view value) { begin_value(key), quote(value); }
  void member(std::string_view key, const char* value) { member(key, std::string_view(value)); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void member(std::string_view key, T value) {
    begin_value(key);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        text_ += "null";  // JSON has no NaN or infinity
        return;
      }
    }
    append_text(text_, value);
  }

  const std::string& text() const { return text_; }

 private:
  void open(std::string_view key, char bracket) {
    begin_value(key);
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void begin_value(std::string_view key) {
    if (!first_) text_ += ',';
    first_ = false;
    if (key.empty()) return;
    quote(key);
    text_ += ':';
  }
  void quote(std::string_view value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    text_ += '"';
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20) {
        text_ += "\\u00";
        text_ += kHex[byte >> 4U];
        text_ += kHex[byte & 0xFU];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace fovea
