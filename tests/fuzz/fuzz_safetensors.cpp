// Fuzzes the safetensors reader: any bytes end in tensors that lie inside the file, or in a Failure with a place; never
// in a crash. What the bytes mean is checked in tests/tools.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "tools/fovea/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fovea::cli;
  const auto source = std::make_shared<MemorySource>("fuzz.safetensors", std::as_bytes(std::span(data, size)));
  const Result<SafetensorsFile> file = SafetensorsFile::open(source);
  if (!file.ok()) {
    const Failure& failure = file.failure();
    if (failure.code.empty() || failure.found.empty() || failure.allowed.empty() || !failure.offset) std::abort();
    return 0;
  }
  std::size_t total = 0;
  for (const SafetensorsEntry& entry : file.value().header().entries) {
    total += static_cast<std::size_t>(entry.end - entry.begin);
    const Result<Tensor> tensor = file.value().read(entry.name);
    if (tensor.ok() != entry.type.has_value()) std::abort();
    if (tensor.ok() && tensor.value().storage->bytes().size() != entry.end - entry.begin) std::abort();
  }
  if (total > size) std::abort();
  return 0;
}
