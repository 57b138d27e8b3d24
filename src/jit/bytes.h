// Bytes: a compiled kernel, as the compilers return it and the cache keeps it.
#pragma once

#include <string_view>
#include <vector>

namespace fovea {

using Bytes = std::vector<char>;

inline std::string_view view(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }
inline Bytes to_bytes(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace fovea
