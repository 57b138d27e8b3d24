// The .npy header: the dict literal that NumPy writes, parsed and written. Knows no bytes beyond the dict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fovea/failure.h"
#include "tools/fovea/io/element_type.h"

namespace fovea::cli {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// What is wrong with a dict, and where in its text.
struct NpyDictFault {
  std::size_t position = 0;
  std::string found;
  std::string allowed;
};

// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". All three keys, each once, nothing else.
std::variant<NpyHeader, NpyDictFault> parse_npy_dict(std::string_view text);

// NumPy's descr of `type`; empty for bf16, which NumPy does not have.
std::string_view npy_descr(ElementType type);

// The whole v1.0 preamble (magic, version, length, dict, padding to 64 bytes).
std::string npy_preamble(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace fovea::cli
