// See text_buffer.h: ask for the size with a null buffer, then for the text.
#include "api/text_buffer.h"

#include <cstring>

#include "api/versioned.h"
#include "core/text.h"

namespace fovea {

Check check_text_request(std::int32_t format, const std::size_t* size) {
  if (size == nullptr) return null_pointer("size");
  if (format == FOVEA_TEXT || format == FOVEA_JSON) return {};
  return Error{.status = FOVEA_UNKNOWN_FLAG,
               .asked = cat("format=", static_cast<int>(format)),
               .allowed = "FOVEA_TEXT (0) or FOVEA_JSON (1)",
               .why = "the number names no format of this version",
               .hint = "use FOVEA_TEXT or FOVEA_JSON"};
}

Check write_text(const std::string& text, char* buffer, std::size_t* size) {
  const std::size_t room = buffer == nullptr ? 0 : *size;
  const std::size_t needed = text.size() + 1;
  *size = needed;
  if (room >= needed) {
    std::memcpy(buffer, text.c_str(), needed);
    return {};
  }
  return Error{.status = FOVEA_BUFFER_TOO_SMALL,
               .asked = cat("a text of ", needed, " bytes in a buffer of ", room),
               .allowed = cat("a buffer of at least ", needed, " bytes"),
               .why = "texts are never cut",
               .hint = "allocate *size bytes, as reported by this call, and call again"};
}

}  // namespace fovea
