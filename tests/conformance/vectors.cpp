// The file of recorded outputs: magic, length of the name, ctas, digest (two words), count, name padded, outputs.
#include "conformance/vectors.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace fovea::conformance {
namespace {

constexpr u32 kMagic = 0x31435646U;  // "FVC1"
constexpr u32 kMaxWords = 1U << 24U;

struct Header {
  u32 magic, name_bytes, ctas, digest_low, digest_high, count;
};

}  // namespace

void append_record(const std::string& path, const Record& record) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  const Header header{kMagic,
                      static_cast<u32>(record.name.size()),
                      record.ctas,
                      static_cast<u32>(record.input_digest),
                      static_cast<u32>(record.input_digest >> 32U),
                      static_cast<u32>(record.out.size())};
  std::string name = record.name;
  name.resize((name.size() + 3) / 4 * 4);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(name.data(), static_cast<std::streamsize>(name.size()));
  file.write(reinterpret_cast<const char*>(record.out.data()), static_cast<std::streamsize>(record.out.size() * 4));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::vector<Record> read_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<Record> records;
  Header header{};
  while (file.read(reinterpret_cast<char*>(&header), sizeof header)) {
    if (header.magic != kMagic || header.name_bytes > 256 || header.count > kMaxWords) {
      throw std::runtime_error(path + ": not a record at number " + std::to_string(records.size()));
    }
    std::string name((header.name_bytes + 3) / 4 * 4, '\0');
    Record record{{}, header.ctas, header.digest_low | static_cast<u64>(header.digest_high) << 32U, {}};
    record.out.resize(header.count);
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    file.read(reinterpret_cast<char*>(record.out.data()), static_cast<std::streamsize>(record.out.size() * 4));
    if (!file) throw std::runtime_error(path + ": ends within " + name);
    name.resize(header.name_bytes);
    record.name = name;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace fovea::conformance
