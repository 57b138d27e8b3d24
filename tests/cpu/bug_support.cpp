// Tensors and small helpers of the bug report tests: memory, views, contents. The call and its judge are in
// bug_attention.cpp.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cpu/bug_support.h"
#include "reference/numbers.h"

namespace fovea::bugs {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Sum of four uniform 16-bit numbers, scaled to variance 1.
double about_normal(std::uint64_t bits) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xffffu) / 65536.0;
  return (sum - 2.0) * std::sqrt(3.0);
}

std::shared_ptr<std::byte> map_pages(std::size_t bytes, std::size_t offset, int guard_pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t body = (bytes + page - 1) / page * page;
  const std::size_t total = body + page * static_cast<std::size_t>(guard_pages);
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(base);
  if (guard_pages > 0) mprotect(first + body, total - body, PROT_NONE);
  return {first + (offset == 0 ? 0 : body - bytes), [base, total](std::byte*) { munmap(base, total); }};
}

fovea_tensor packed_view(fovea_dtype dtype, const Shape& shape, void* data) {
  fovea_tensor t{};
  t.data = data;
  t.dtype = dtype;
  t.rank = static_cast<std::int32_t>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    t.shape[d] = shape[d];
    t.strides[d] = stride;
    stride *= shape[d];
  }
  return t;
}

std::size_t bytes_of(fovea_dtype dtype, const Shape& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())) *
         fovea_dtype_size(dtype);
}

}  // namespace

Tensor::Tensor(fovea_dtype dtype, const Shape& shape) {
  const std::size_t bytes = bytes_of(dtype, shape);
  storage_ =
      std::shared_ptr<std::byte>(new std::byte[std::max<std::size_t>(bytes, 1)], std::default_delete<std::byte[]>());
  std::memset(storage_.get(), 0xff, bytes);
  view_ = packed_view(dtype, shape, storage_.get());
}

Tensor Tensor::guarded(fovea_dtype dtype, const Shape& shape) {
  const std::size_t bytes = bytes_of(dtype, shape);
  Tensor t;
  t.storage_ = map_pages(bytes, 1, 1);
  std::memset(t.storage_.get(), 0xff, bytes);
  t.view_ = packed_view(dtype, shape, t.storage_.get());
  return t;
}

Tensor Tensor::sparse(fovea_dtype dtype, const Shape& shape, const Shape& strides) {
  Tensor t;
  t.view_ = packed_view(dtype, shape, nullptr);
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    t.view_.strides[d] = strides[d];
    last += (shape[d] - 1) * strides[d];
  }
  t.storage_ = map_pages(static_cast<std::size_t>(last + 1) * fovea_dtype_size(dtype), 0, 0);
  t.view_.data = t.storage_.get();
  return t;
}

Tensor Tensor::ints(const std::vector<std::int32_t>& values) {
  return Tensor(FOVEA_I32, {static_cast<std::int64_t>(values.size())}).fill([&](auto i, auto, auto, auto) {
    return values[static_cast<std::size_t>(i)];
  });
}

Tensor Tensor::ints(const std::vector<std::vector<std::int32_t>>& rows) {
  const auto width = static_cast<std::int64_t>(rows.empty() ? 0 : rows[0].size());
  return Tensor(FOVEA_I32, {static_cast<std::int64_t>(rows.size()), width}).fill([&](auto i, auto j, auto, auto) {
    return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  });
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t count) const {
  Tensor t = *this;
  t.view_.data = static_cast<std::byte*>(view_.data) +
                 begin * view_.strides[dim] * static_cast<std::int64_t>(fovea_dtype_size(dtype()));
  t.view_.shape[dim] = count;
  return t;
}

Tensor Tensor::step(int dim, std::int64_t by) const {
  Tensor t = *this;
  t.view_.shape[dim] = (view_.shape[dim] + by - 1) / by;
  t.view_.strides[dim] *= by;
  return t;
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  Tensor t = slice(dim, index, 1);
  for (int d = dim; d + 1 < view_.rank; ++d) {
    t.view_.shape[d] = view_.shape[d + 1];
    t.view_.strides[d] = view_.strides[d + 1];
  }
  --t.view_.rank;
  t.view_.shape[t.view_.rank] = t.view_.strides[t.view_.rank] = 0;
  return t;
}

Tensor Tensor::transpose(int a, int b) const {
  Tensor t = *this;
  std::swap(t.view_.shape[a], t.view_.shape[b]);
  std::swap(t.view_.strides[a], t.view_.strides[b]);
  return t;
}

Tensor Tensor::expand(int dim, std::int64_t extent) const {
  Tensor t = *this;
  t.view_.shape[dim] = extent;
  t.view_.strides[dim] = 0;
  return t;
}

Tensor Tensor::reverse(int dim) const {
  Tensor t = slice(dim, size(dim) - 1, 1);
  t.view_.shape[dim] = size(dim);
  t.view_.strides[dim] = -view_.strides[dim];
  return t;
}

Tensor Tensor::flatten() const {
  Tensor t = select(0, 0);
  t.view_.shape[0] = size(0) * size(1);
  return t;
}

Tensor Tensor::normal(std::uint64_t seed, double scale) const {
  std::uint64_t n = mix(seed) | 1u;
  visit([&](const Index& i) { set(scale * about_normal(mix(n += 2)), i); });
  return *this;
}

Tensor Tensor::constant(double value) const {
  visit([&](const Index& i) { set(value, i); });
  return *this;
}

Tensor Tensor::poison() const {
  visit([&](const Index& i) { std::memset(address(i), 0xff, fovea_dtype_size(dtype())); });
  return *this;
}

bool Tensor::untouched(const Index& i) const {
  const std::byte* p = address(i);
  return std::all_of(p, p + fovea_dtype_size(dtype()), [](std::byte b) { return b == std::byte{0xff}; });
}

std::int64_t Tensor::offset(const Index& i) const {
  std::int64_t sum = 0;
  for (int d = 0; d < view_.rank; ++d) sum += i[static_cast<std::size_t>(d)] * view_.strides[d];
  return sum;
}

std::byte* Tensor::address(const Index& i) const {
  return static_cast<std::byte*>(view_.data) + offset(i) * static_cast<std::int64_t>(fovea_dtype_size(dtype()));
}

double Tensor::at(const Index& i) const { return reference::load(view_, offset(i)); }

void Tensor::set(double value, const Index& i) const {
  if (view_.dtype == FOVEA_BOOL) {
    *address(i) = value != 0 ? std::byte{1} : std::byte{0};
    return;
  }
  if (view_.dtype == FOVEA_I32) return reference::store_as(view_, offset(i), static_cast<std::int32_t>(value));
  reference::store(view_, offset(i), value);
}

Tensor Tensor::like(fovea_dtype dtype) const { return Tensor(dtype, Shape(view_.shape, view_.shape + view_.rank)); }

Tensor Tensor::packed_copy() const {
  Tensor t = like(dtype());
  t.visit([&](const Index& i) { t.set(at(i), i); });
  return t;
}

std::vector<std::vector<std::int32_t>> scattered_pages(std::int64_t sequences, std::int64_t pages_each,
                                                       std::int64_t num_pages, std::uint64_t seed) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(num_pages));
  std::iota(ids.begin(), ids.end(), 0);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[mix(seed + i) % i]);
  std::vector<std::vector<std::int32_t>> table;
  for (std::int64_t s = 0; s < sequences; ++s)
    table.emplace_back(ids.begin() + s * pages_each, ids.begin() + (s + 1) * pages_each);
  return table;
}

Tensor paged_copy(const Tensor& rows, const std::vector<std::vector<std::int32_t>>& table, std::int64_t page_size,
                  std::int64_t num_pages) {
  Tensor pool(rows.dtype(), {num_pages, page_size, rows.size(2), rows.size(3)});
  rows.visit([&](const Index& i) {
    const std::int64_t page = table[static_cast<std::size_t>(i[0])][static_cast<std::size_t>(i[1] / page_size)];
    pool.set(rows.at(i), {page, i[1] % page_size, i[2], i[3]});
  });
  return pool;
}

}  // namespace fovea::bugs
