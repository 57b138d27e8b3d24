// The outputs of an Instance: NaN of a pattern that no kernel writes, in and around every element.
#include "cases/materialize.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "reference/numbers.h"

namespace fovea::cases {
namespace {

constexpr std::uint32_t kCanary32 = 0x7fc5a5a5;  // NaN as f32
constexpr std::uint16_t kCanary16 = 0x7fc5;      // NaN as f16 and as bf16
constexpr std::int64_t kMargin = 32;             // elements before and after

bool is_canary(const std::byte* address, std::size_t bytes) {
  if (bytes == 4) return std::memcmp(address, &kCanary32, 4) == 0;
  return std::memcmp(address, &kCanary16, 2) == 0;
}

std::size_t output_bytes(fovea_dtype dtype) { return dtype == FOVEA_F32 ? 4 : 2; }

double element(const std::byte* address, fovea_dtype dtype) {
  fovea_tensor t{};
  t.data = const_cast<std::byte*>(address);
  t.dtype = dtype;
  return reference::load(t, 0);
}

// FNV-1a over 8-byte words.
std::uint64_t digest(std::uint64_t hash, const std::byte* data, std::size_t size) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  for (std::size_t i = 0; i < size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, std::min<std::size_t>(8, size - i));
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

fovea_tensor Instance::make_output(Output& output, fovea_dtype dtype, Strides strides, const Extents& e) {
  output.dtype = dtype;
  output.extents = e;
  output.place = place(strides, e);
  output.place.base += kMargin;
  output.place.storage += 2 * kMargin;
  output.buffer = allocate(dtype, output.place.storage, false).buffer;
  fovea_tensor t{};
  t.data = buffers_[output.buffer].data() + output.place.base * static_cast<std::int64_t>(output_bytes(dtype));
  t.dtype = dtype;
  return t;
}

void Instance::make_outputs() {
  const Case& c = case_;
  const bool varlen = c.q_layout == Layout::varlen;
  const Strides strides = c.strides == Strides::expanded ? Strides::bshd : c.strides;
  const Extents e{varlen ? 1 : c.batch, geometry_.q_storage, c.num_heads_q, c.head_dim_v};
  const auto shape = [](fovea_tensor& t, std::initializer_list<std::int64_t> extents,
                        std::initializer_list<std::int64_t> element_strides) {
    t.rank = static_cast<std::int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), t.shape);
    std::copy(element_strides.begin(), element_strides.end(), t.strides);
  };
  fovea_tensor& out = args_.out;
  out = make_output(out_, c.out_dtype, strides, e);
  const Placement& p = out_.place;
  if (varlen) {
    shape(out, {e.rows, e.heads, e.dim}, {p.row, p.head, p.element});
  } else {
    shape(out, {e.outer, e.rows, e.heads, e.dim}, {p.outer, p.row, p.head, p.element});
  }
  if (!c.lse) return;
  fovea_tensor& lse = args_.lse;
  const bool packed = strides == Strides::bshd || strides == Strides::qkv;
  lse = make_output(lse_, FOVEA_F32, packed ? Strides::bhsd : strides, {e.outer, e.rows, e.heads, 1});
  const Placement& l = lse_.place;
  if (varlen) {
    shape(lse, {e.heads, e.rows}, {l.head, l.row});
  } else {
    shape(lse, {e.outer, e.heads, e.rows}, {l.outer, l.head, l.row});
  }
}

void Instance::reset_outputs() {
  for (const Output* output : {&out_, &lse_}) {
    if (output == &lse_ && !case_.lse) continue;
    Buffer& buffer = buffers_[output->buffer];
    const std::size_t bytes = output_bytes(output->dtype);
    for (std::size_t i = 0; i < buffer.size(); i += bytes) {
      std::memcpy(buffer.data() + i, bytes == 4 ? static_cast<const void*>(&kCanary32) : &kCanary16, bytes);
    }
  }
}

double Instance::out(std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) const {
  const std::int64_t row = geometry_.q[static_cast<std::size_t>(b)].begin + i;
  const std::int64_t at = out_.place.at(case_.q_layout == Layout::varlen ? 0 : b, row, h, d);
  const auto bytes = static_cast<std::int64_t>(output_bytes(out_.dtype));
  return element(buffers_[out_.buffer].data() + at * bytes, out_.dtype);
}

double Instance::lse(std::int64_t b, std::int64_t h, std::int64_t i) const {
  const std::int64_t row = geometry_.q[static_cast<std::size_t>(b)].begin + i;
  const std::int64_t at = lse_.place.at(case_.q_layout == Layout::varlen ? 0 : b, row, h, 0);
  return element(buffers_[lse_.buffer].data() + at * 4, FOVEA_F32);
}

std::string Instance::check_output(const Output& output, const char* name) const {
  const Buffer& buffer = buffers_[output.buffer];
  const std::size_t bytes = output_bytes(output.dtype);
  std::vector<bool> owned(buffer.size() / bytes, false);
  for (std::int64_t b = 0; b < case_.batch; ++b) {
    const Rows& rows = geometry_.q[static_cast<std::size_t>(b)];
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (std::int64_t h = 0; h < output.extents.heads; ++h) {
        for (std::int64_t d = 0; d < output.extents.dim; ++d) {
          const std::int64_t outer = case_.q_layout == Layout::varlen ? 0 : b;
          owned[static_cast<std::size_t>(output.place.at(outer, rows.begin + i, h, d))] = true;
        }
      }
    }
  }
  for (std::size_t e = 0; e < owned.size(); ++e) {
    const bool canary = is_canary(buffer.data() + e * bytes, bytes);
    if (canary != owned[e]) continue;
    const std::string where = std::string(name) + " element at storage offset " +
                              std::to_string(static_cast<std::int64_t>(e) - output.place.base) + " from its data";
    return owned[e] ? where + " was never written" : where + " lies outside the output and was written";
  }
  return {};
}

std::string Instance::untouched_violation() const {
  if (input_digest() != sealed_) return "an input was modified";
  std::string problem = check_output(out_, "out");
  if (problem.empty() && case_.lse) problem = check_output(lse_, "lse");
  return problem;
}

std::uint64_t Instance::input_digest() const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::size_t i : inputs_) hash = digest(hash, buffers_[i].data(), buffers_[i].size());
  return hash;
}

}  // namespace fovea::cases
