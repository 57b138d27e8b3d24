// The container: 8 bytes of header length, the JSON header, the data section.
#include "tools/fovea/io/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace fovea::cli {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the bound that the format itself sets
constexpr std::size_t kPrefix = 8;

Result<std::uint64_t> read_header_length(const ByteSource& source) {
  if (source.size() < kPrefix) {
    return source.failure("safetensors_truncated", source.size(),
                          "a file of " + std::to_string(source.size()) + " bytes", "at least 8 bytes of header length");
  }
  std::array<std::byte, kPrefix> prefix{};
  if (Outcome bad = source.read(0, prefix)) return *bad;
  std::uint64_t length = 0;
  for (std::size_t n = 0; n < kPrefix; ++n) length |= std::to_integer<std::uint64_t>(prefix[n]) << (8 * n);
  if (length > kMaxHeader) {
    return source.failure("safetensors_header_size", 0, std::to_string(length) + " bytes of header",
                          "at most " + std::to_string(kMaxHeader), "", "this may not be a safetensors file");
  }
  if (length > source.size() - kPrefix) {
    return source.failure("safetensors_truncated", source.size(),
                          std::to_string(source.size() - kPrefix) + " bytes after the header length",
                          "a header of " + std::to_string(length) + " bytes and the data");
  }
  return length;
}

void append_u64(std::string& bytes, std::uint64_t value) {
  for (int n = 0; n < 8; ++n) bytes += static_cast<char>((value >> (8 * n)) & 0xff);
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(std::shared_ptr<const ByteSource> source) {
  const Result<std::uint64_t> length = read_header_length(*source);
  if (!length.ok()) return length.failure();
  std::string text(static_cast<std::size_t>(length.value()), ' ');
  if (Outcome bad = source->read(kPrefix, std::as_writable_bytes(std::span(text)))) return *bad;
  const std::uint64_t data_offset = kPrefix + length.value();
  Result<SafetensorsHeader> header = parse_safetensors_header(*source, text, kPrefix, source->size() - data_offset);
  if (!header.ok()) return header.failure();
  return SafetensorsFile(std::move(source), std::move(header.value()), data_offset);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto& entries = header_.entries;
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Result<Tensor> SafetensorsFile::read(std::string_view name) const {
  const SafetensorsEntry* const entry = find(name);
  if (entry == nullptr) {
    std::string names;
    for (std::size_t n = 0; n < header_.entries.size() && n < 16; ++n) {
      names += (n == 0 ? "" : ", ") + header_.entries[n].name;
    }
    if (header_.entries.size() > 16) names += ", ... (" + std::to_string(header_.entries.size()) + " in all)";
    return source_->failure("safetensors_missing", kPrefix, "no tensor '" + std::string(name) + "'", names);
  }
  if (!entry->type) {
    return source_->failure("safetensors_dtype", kPrefix, "tensor '" + entry->name + "' of dtype " + entry->dtype,
                            "F64 F32 F16 BF16 I64 I32 U8 BOOL");
  }
  Tensor tensor = make_tensor(*entry->type, entry->shape);
  if (tensor.data == nullptr) {
    return source_->failure("out_of_memory", data_offset_ + entry->begin,
                            std::to_string(entry->end - entry->begin) + " bytes", "what fits this machine's memory");
  }
  if (Outcome bad = source_->read(data_offset_ + entry->begin, tensor.storage->bytes())) return *bad;
  return tensor;
}

Outcome write_safetensors(OutputFile& file, std::span<const NamedTensor> tensors,
                          const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json;
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const NamedTensor& named : tensors) {
    const std::uint64_t end = at + named.tensor.storage->bytes().size();
    json[named.name] = {
        {"dtype", safetensors_dtype(named.tensor.type)}, {"shape", named.tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = json.is_null() ? "{}" : json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string prefix;
  append_u64(prefix, text.size());
  prefix += text;
  if (Outcome bad = file.write(std::as_bytes(std::span(prefix)))) return bad;
  for (const NamedTensor& named : tensors) {
    if (Outcome bad = file.write(named.tensor.storage->bytes())) return bad;
  }
  return std::nullopt;
}

}  // namespace fovea::cli
