// An entry is one line, then the payload: format, file name, label, payload size and SHA-256, separated by tabs. The
// file name stands inside, so that an entry that was copied over another is not believed.
#include "jit/disk_cache.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "jit/files.h"
#include "jit/sha256.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "fovea-cache-1";
constexpr std::size_t kMaxHeader = 1024;
constexpr std::size_t kMaxFile = std::size_t{256} << 20U;
constexpr std::size_t kDigestDigits = 64;

std::string header(std::string_view file, std::string_view label, std::string_view payload) {
  return cat(kFormat, "\t", file, "\t", label, "\t", payload.size(), "\t", hex(sha256(payload)), "\n");
}

struct Parsed {
  std::string label;
  std::string_view payload;
  std::string problem;
};

// The fields of a header line; false when there are not exactly as many.
bool split(std::string_view line, std::array<std::string_view, 5>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t tab = line.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == fields.size())) return false;
    fields[i] = line.substr(0, tab);
    if (tab != std::string_view::npos) line.remove_prefix(tab + 1);
  }
  return true;
}

Parsed parse(std::string_view file, std::string_view content) {
  const std::size_t end = content.substr(0, kMaxHeader).find('\n');
  if (end == std::string_view::npos) return {.label = {}, .payload = {}, .problem = "no header"};
  std::array<std::string_view, 5> fields;
  if (!split(content.substr(0, end), fields)) return {.label = {}, .payload = {}, .problem = "malformed header"};
  Parsed parsed{.label = std::string(fields[2]), .payload = content.substr(end + 1), .problem = {}};
  if (fields[0] != kFormat) {
    parsed.problem = cat("format ", fields[0]);
  } else if (fields[1] != file) {
    parsed.problem = cat("belongs to ", fields[1]);
  } else if (fields[3] != std::to_string(parsed.payload.size())) {
    parsed.problem = cat("holds ", parsed.payload.size(), " of ", fields[3], " bytes");
  } else if (fields[4] != hex(sha256(parsed.payload))) {
    parsed.problem = "checksum differs";
  }
  return parsed;
}

bool is_entry_name(std::string_view name) {
  const std::string_view digest = name.substr(0, kDigestDigits);
  const bool digits = std::all_of(digest.begin(), digest.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return name.size() > kDigestDigits && digits && name[kDigestDigits] == '.' &&
         (name.ends_with(".cubin") || name.ends_with(".so"));
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  if (directory.empty()) return names;
  for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end; entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string CacheKey::file_name() const { return cat(digest, ".", compiler, ".", kind); }

DiskCache::DiskCache(std::string directory) : directory_(std::move(directory)) {}

std::optional<Bytes> DiskCache::load(const CacheKey& key) const {
  if (directory_.empty()) return std::nullopt;
  const std::string name = key.file_name();
  std::optional<Bytes> content = read_file(cat(directory_, "/", name), kMaxFile);
  if (!content) return std::nullopt;
  const Parsed parsed = parse(name, view(*content));
  if (!parsed.problem.empty()) return std::nullopt;
  return to_bytes(parsed.payload);
}

std::optional<Bytes> DiskCache::load_of_any_compiler(const CacheKey& key) const {
  const std::vector<std::string> names = names_in(directory_);
  const std::string end = cat(".", key.kind);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!is_entry_name(*name) || !name->starts_with(cat(key.digest, ".")) || !name->ends_with(end)) continue;
    CacheKey other = key;
    other.compiler = name->substr(kDigestDigits + 1, name->size() - kDigestDigits - 1 - end.size());
    if (std::optional<Bytes> bytes = load(other)) return bytes;
  }
  return std::nullopt;
}

bool DiskCache::store(const CacheKey& key, const Bytes& bytes, std::string& reason) const {
  if (directory_.empty()) {
    reason = "no cache directory";
    return false;
  }
  const std::string name = key.file_name();
  if (!make_private_directories(directory_, reason)) return false;
  const std::string content = cat(header(name, key.label, view(bytes)), view(bytes));
  return publish_file(cat(directory_, "/", name), content, reason);
}

std::vector<CacheEntry> DiskCache::entries() const {
  std::vector<CacheEntry> found;
  for (const std::string& name : names_in(directory_)) {
    if (!is_entry_name(name)) continue;
    CacheEntry entry{.file = name, .label = {}, .bytes = 0, .problem = "unreadable"};
    if (const std::optional<Bytes> content = read_file(cat(directory_, "/", name), kMaxFile)) {
      const Parsed parsed = parse(name, view(*content));
      entry.label = parsed.label;
      entry.bytes = content->size();
      entry.problem = parsed.problem;
    }
    found.push_back(std::move(entry));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const CacheEntry& a, const CacheEntry& b) { return a.label < b.label; });
  return found;
}

std::size_t DiskCache::clear() const {
  std::size_t removed = 0;
  for (const std::string& name : names_in(directory_)) {
    if (!is_entry_name(name) && !name.starts_with(kTemporaryPrefix)) continue;
    std::error_code failure;
    if (fs::remove(cat(directory_, "/", name), failure)) ++removed;
  }
  return removed;
}

}  // namespace fovea
