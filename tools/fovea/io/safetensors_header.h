// The safetensors header: JSON text -> entries whose shapes, dtypes and byte ranges agree with each other and the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fovea/failure.h"
#include "tools/fovea/io/byte_source.h"
#include "tools/fovea/io/element_type.h"

namespace fovea::cli {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;                // as written: "BF16"
  std::optional<ElementType> type;  // nullopt: a safetensors dtype that this tool does not read
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, relative to the data section
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in file order of their data
  std::map<std::string, std::string> metadata;
};

// `text` lies at `text_offset` of `source`; `data_bytes` is the size of the data section.
Result<SafetensorsHeader> parse_safetensors_header(const ByteSource& source, std::string_view text,
                                                   std::uint64_t text_offset, std::uint64_t data_bytes);

std::string_view safetensors_dtype(ElementType type);  // "BF16"

}  // namespace fovea::cli
