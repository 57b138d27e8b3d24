// Recorded outputs: one record per case, appended as they come, little-endian words. A record holds the digest of the
// inputs it was made from, because the inputs themselves are computed again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace fovea::conformance {

struct Record {
  std::string name;
  u32 ctas = 0;
  std::uint64_t input_digest = 0;
  std::vector<u32> out;
};

// Throw std::runtime_error when the file cannot be written, read or understood.
void append_record(const std::string& path, const Record& record);
std::vector<Record> read_records(const std::string& path);

}  // namespace fovea::conformance
