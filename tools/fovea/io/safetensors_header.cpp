// Each entry is checked alone (dtype, shape, size), then all of them together (no gap, no overlap, nothing left over).
#include "tools/fovea/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/fovea/io/json_guard.h"
#include "tools/fovea/io/tensor.h"

namespace fovea::cli {
namespace {

using Json = nlohmann::json;

struct FileDtype {
  std::string_view name;
  std::size_t size;
  std::optional<ElementType> type;
};

constexpr std::array<FileDtype, 15> kDtypes = {{{"F64", 8, ElementType::f64},
                                                {"F32", 4, ElementType::f32},
                                                {"F16", 2, ElementType::f16},
                                                {"BF16", 2, ElementType::bf16},
                                                {"I64", 8, ElementType::i64},
                                                {"I32", 4, ElementType::i32},
                                                {"U8", 1, ElementType::u8},
                                                {"BOOL", 1, ElementType::boolean},
                                                {"U64", 8, std::nullopt},
                                                {"U32", 4, std::nullopt},
                                                {"U16", 2, std::nullopt},
                                                {"I16", 2, std::nullopt},
                                                {"I8", 1, std::nullopt},
                                                {"F8_E4M3", 1, std::nullopt},
                                                {"F8_E5M2", 1, std::nullopt}}};

class HeaderReader {
 public:
  HeaderReader(const ByteSource& source, std::string_view text, std::uint64_t text_offset, std::uint64_t data_bytes)
      : source_(source), text_(text), text_offset_(text_offset), data_bytes_(data_bytes) {}

  Result<SafetensorsHeader> read() {
    if (const std::optional<JsonFault> fault = check_json(text_, JsonLimits{})) {
      return source_.failure("safetensors_" + fault->code, text_offset_ + std::min(fault->position, text_.size()),
                             fault->found, fault->allowed);
    }
    const Json json = Json::parse(text_, nullptr, false);
    if (!json.is_object())
      return source_.failure("safetensors_header", text_offset_, json.type_name(), "a JSON object");
    for (const auto& [key, value] : json.items()) {
      if (Outcome bad = key == "__metadata__" ? metadata(value) : entry(key, value)) return *bad;
    }
    if (Outcome bad = layout()) return *bad;
    return header_;
  }

 private:
  Failure failure(std::string code, const std::string& name, const std::string& found, std::string allowed,
                  std::string why = {}) const {
    const std::size_t at = text_.find('"' + name + '"');
    return source_.failure("safetensors_" + std::move(code), text_offset_ + (at == std::string_view::npos ? 0 : at),
                           "tensor '" + name + "': " + found, std::move(allowed), std::move(why));
  }

  Outcome metadata(const Json& json) {
    if (!json.is_object()) return failure("metadata", "__metadata__", json.type_name(), "an object of strings");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) return failure("metadata", "__metadata__", value.type_name(), "string values only");
      header_.metadata.emplace(key, value.get<std::string>());
    }
    return std::nullopt;
  }

  // A JSON array of integers from 0 to 2^63-1.
  static bool integers(const Json& json, std::vector<std::int64_t>& values) {
    if (!json.is_array()) return false;
    for (const Json& item : json) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return false;
      values.push_back(item.get<std::int64_t>());
    }
    return true;
  }

  Outcome entry(const std::string& name, const Json& json) {
    if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets")) {
      return failure("entry", name, "other content", "an object with dtype, shape and data_offsets");
    }
    SafetensorsEntry entry;
    entry.name = name;
    if (!json["dtype"].is_string()) return failure("dtype", name, "a dtype that is no string", "F32, BF16, F16, ...");
    entry.dtype = json["dtype"].get<std::string>();
    const auto dtype =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.name == entry.dtype; });
    if (dtype == kDtypes.end()) return failure("dtype", name, "dtype '" + entry.dtype + "'", "a safetensors dtype");
    entry.type = dtype->type;
    if (!integers(json["shape"], entry.shape) || entry.shape.size() > kMaxFileRank) {
      return failure("shape", name, "shape " + json["shape"].dump().substr(0, 80),
                     "at most " + std::to_string(kMaxFileRank) + " extents from 0 to 2^63-1");
    }
    std::vector<std::int64_t> offsets;
    if (!integers(json["data_offsets"], offsets) || offsets.size() != 2) {
      return failure("offsets", name, "data_offsets " + json["data_offsets"].dump().substr(0, 80), "[begin, end]");
    }
    entry.begin = static_cast<std::uint64_t>(offsets[0]);
    entry.end = static_cast<std::uint64_t>(offsets[1]);
    return sizes(std::move(entry), dtype->size);
  }

  Outcome sizes(SafetensorsEntry entry, std::size_t size) {
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      return failure("offsets", entry.name, "bytes " + range,
                     "a range within the " + std::to_string(data_bytes_) + " bytes of data",
                     "the file is truncated or its header is wrong");
    }
    const std::optional<std::int64_t> count = checked_count(entry.shape, size);
    if (!count) {
      return failure("shape_overflow", entry.name, "shape " + shape_text(entry.shape), "less than 2^63 bytes");
    }
    if (static_cast<std::uint64_t>(*count) * size != entry.end - entry.begin) {
      return failure("size", entry.name, std::to_string(entry.end - entry.begin) + " bytes",
                     std::to_string(static_cast<std::uint64_t>(*count) * size) + " bytes for shape " +
                         shape_text(entry.shape) + " of " + entry.dtype);
    }
    header_.entries.push_back(std::move(entry));
    return std::nullopt;
  }

  Outcome layout() {
    auto& entries = header_.entries;
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::uint64_t at = 0;
    for (const SafetensorsEntry& entry : entries) {
      if (entry.begin != at) {
        return failure(entry.begin < at ? "overlap" : "gap", entry.name,
                       "data from byte " + std::to_string(entry.begin),
                       "data from byte " + std::to_string(at) + ", where the tensor before it ends");
      }
      at = entry.end;
    }
    if (at == data_bytes_) return std::nullopt;
    return source_.failure("safetensors_trailing_bytes", text_offset_ + text_.size() + at,
                           std::to_string(data_bytes_ - at) + " bytes that belong to no tensor", "none");
  }

  const ByteSource& source_;
  std::string_view text_;
  std::uint64_t text_offset_;
  std::uint64_t data_bytes_;
  SafetensorsHeader header_;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(const ByteSource& source, std::string_view text,
                                                   std::uint64_t text_offset, std::uint64_t data_bytes) {
  return HeaderReader(source, text, text_offset, data_bytes).read();
}

std::string_view safetensors_dtype(ElementType type) {
  const auto entry = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.type == type; });
  return entry->name;
}

}  // namespace fovea::cli
