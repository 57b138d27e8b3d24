// ElementType: the element types that the tool reads from files. Wider than the library's dtypes: files carry int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fovea::cli {

enum class ElementType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

constexpr std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::u8:
    case ElementType::boolean:
      return 1;
  }
  return 1;
}

constexpr std::string_view name(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return "f64";
    case ElementType::f32:
      return "f32";
    case ElementType::f16:
      return "f16";
    case ElementType::bf16:
      return "bf16";
    case ElementType::i64:
      return "i64";
    case ElementType::i32:
      return "i32";
    case ElementType::u8:
      return "u8";
    case ElementType::boolean:
      return "bool";
  }
  return "unknown";
}

}  // namespace fovea::cli
