// Physical memory is the bound: beyond it the system would hand out address space and end the process later.
#include "tools/fovea/io/buffer.h"

#include <unistd.h>

#include <new>

namespace fovea::cli {
namespace {

constexpr std::align_val_t kAlignment{64};

std::uint64_t physical_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : UINT64_MAX / 2;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(std::uint64_t bytes) {
  if (bytes > physical_bytes()) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  auto* data = static_cast<std::byte*>(::operator new(size == 0 ? 1 : size, kAlignment, std::nothrow));
  if (data == nullptr) return nullptr;
  return std::shared_ptr<Buffer>(new Buffer(data, size));
}

Buffer::~Buffer() { ::operator delete(data_, kAlignment); }

}  // namespace fovea::cli
