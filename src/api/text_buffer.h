// The buffer protocol of explain and doctor.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace fovea {

// A format other than text or JSON, or no place for the size.
Check check_text_request(std::int32_t format, const std::size_t* size);

// Copies `text` with its NUL when `buffer` has room; always reports the size needed in *size.
Check write_text(const std::string& text, char* buffer, std::size_t* size);

}  // namespace fovea
