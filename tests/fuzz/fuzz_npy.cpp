// Fuzzes the .npy reader: any bytes end in a tensor whose storage fits its shape, or in a Failure with a place; never
// in a crash. What the bytes mean is checked in tests/tools.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tools/fovea/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fovea::cli;
  const MemorySource source("fuzz.npy", std::as_bytes(std::span(data, size)));
  for (const NpyBf16 bf16 : {NpyBf16::refuse, NpyBf16::as_u2}) {
    const Result<Tensor> read = read_npy(source, bf16);
    if (!read.ok()) {
      const Failure& failure = read.failure();
      if (failure.code.empty() || failure.found.empty() || failure.allowed.empty() || !failure.offset) std::abort();
      continue;
    }
    const Tensor& tensor = read.value();
    const auto count = checked_count(tensor.shape, element_size(tensor.type));
    if (!count || tensor.strides.size() != tensor.rank()) std::abort();
    if (tensor.storage->bytes().size() != static_cast<std::size_t>(*count) * element_size(tensor.type)) std::abort();
    if (tensor.storage->bytes().size() > size) std::abort();
  }
  return 0;
}
