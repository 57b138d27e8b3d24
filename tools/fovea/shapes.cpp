// Claimed tensors lie one after another from an arbitrary base, so that the library's overlap rules hold for them.
#include "tools/fovea/shapes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "reference/numbers.h"
#include "tools/cases/random.h"
#include "tools/fovea/call.h"
#include "tools/fovea/features.h"

namespace fovea::cli {
namespace {

using Extents = std::vector<std::int64_t>;

Failure usage(std::string code, std::string found, std::string allowed) {
  return make_failure(ExitCode::usage, std::move(code), std::move(found), std::move(allowed));
}

// Random values repeat with this period: drawing each of many millions would take longer than what is measured.
constexpr std::int64_t kDistinct = 65521;

class Maker {
 public:
  Maker(ShapedCall& call, Memory memory) : call_(call), memory_(memory) {}

  // A dense tensor of `extents`; `mask` elements are true with probability one half.
  Outcome make(fovea_tensor& view, fovea_dtype dtype, const Extents& extents) {
    const std::size_t size = fovea_dtype_size(dtype);
    const std::optional<std::int64_t> count = checked_count(extents, size);
    if (extents.empty() || extents.size() > FOVEA_MAX_RANK || !count) {
      return usage("shape", shape_text(extents), "1 to 4 extents of 0 or more, less than 2^63 bytes");
    }
    fill_view(view, dtype, extents);
    return memory_ == Memory::claimed ? claim(view, *count * static_cast<std::int64_t>(size))
                                      : allocate(view, dtype, extents, *count);
  }

  Outcome make_index(fovea_tensor& view, const Extents& values, const Extents& extents) {
    Tensor tensor = make_tensor(ElementType::i32, extents);
    if (tensor.data == nullptr) return usage("out_of_memory", shape_text(extents), "what fits this machine's memory");
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (values[n] < INT32_MIN || values[n] > INT32_MAX) {
        return usage("integer_range", std::to_string(values[n]), "32-bit integers");
      }
      const auto value = static_cast<std::int32_t>(values[n]);
      std::memcpy(tensor.data + n * sizeof(value), &value, sizeof(value));
    }
    fill_view(view, FOVEA_I32, extents);
    view.data = tensor.data;
    call_.storage.push_back(std::move(tensor));
    return std::nullopt;
  }

 private:
  static void fill_view(fovea_tensor& view, fovea_dtype dtype, const Extents& extents) {
    view.dtype = dtype;
    view.rank = static_cast<std::int32_t>(extents.size());
    const Extents strides = dense_strides(extents, false);
    std::copy(extents.begin(), extents.end(), view.shape);
    std::copy(strides.begin(), strides.end(), view.strides);
  }

  Outcome claim(fovea_tensor& view, std::int64_t bytes) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;
    const std::uint64_t need = (static_cast<std::uint64_t>(bytes) / kPage + 1) * kPage;
    if (need > kEnd - next_) return usage("shape", std::to_string(bytes) + " bytes more", "2^62 bytes in all");
    view.data = reinterpret_cast<void*>(next_);
    next_ += need;
    return std::nullopt;
  }

  Outcome allocate(fovea_tensor& view, fovea_dtype dtype, const Extents& extents, std::int64_t count) {
    Tensor tensor = make_tensor(element_type_of(dtype), extents);
    if (tensor.data == nullptr) {
      return Failure{.exit = ExitCode::internal,
                     .code = "out_of_memory",
                     .found = shape_text(extents),
                     .allowed = "what fits this machine's memory",
                     .why = {},
                     .hint = {},
                     .file = {},
                     .offset = {}};
    }
    view.data = tensor.data;
    ++seed_;
    const std::int64_t distinct = std::min(count, kDistinct);
    for (std::int64_t n = 0; n < distinct; ++n) {
      const std::uint64_t bits = cases::random_bits(seed_, cases::Stream::q, static_cast<std::uint64_t>(n));
      if (dtype == FOVEA_BOOL) {
        tensor.data[n] = std::byte{static_cast<unsigned char>(bits & 1)};
      } else {
        reference::store(view, n, cases::normal(bits));
      }
    }
    const std::span<std::byte> bytes = tensor.storage->bytes();
    const auto period = static_cast<std::size_t>(distinct) * fovea_dtype_size(dtype);
    for (std::size_t at = period; at < bytes.size(); ++at) bytes[at] = bytes[at - period];
    call_.storage.push_back(std::move(tensor));
    return std::nullopt;
  }

  ShapedCall& call_;
  Memory memory_;
  std::uint64_t next_ = std::uint64_t{1} << 20;
  std::uint64_t seed_ = 0;
};

std::int64_t or_else(std::int64_t value, std::int64_t fallback) { return value < 0 ? fallback : value; }

Extents offsets(const Extents& lengths) {
  Extents result = {0};
  for (const std::int64_t length : lengths) result.push_back(result.back() + length);
  return result;
}

Outcome make_lengths(const Shapes& s, ShapedCall& call, Maker& maker) {
  const auto list = [&](fovea_tensor& view, const Extents& values) -> Outcome {
    if (values.empty()) return std::nullopt;
    return maker.make_index(view, values, {static_cast<std::int64_t>(values.size())});
  };
  if (Outcome bad = list(call.args.cu_seqlens_q, s.lengths_q.empty() ? Extents{} : offsets(s.lengths_q))) return bad;
  if (Outcome bad = list(call.args.cu_seqlens_kv, s.lengths_kv.empty() ? Extents{} : offsets(s.lengths_kv))) return bad;
  if (Outcome bad = list(call.args.seqused_q, s.seqused_q)) return bad;
  return list(call.args.seqused_kv, s.seqused_kv);
}

// Each sequence gets its own pages, in order.
Outcome make_pages(const Shapes& s, ShapedCall& call, Maker& maker, std::int64_t batch, std::int64_t seqlen_kv,
                   Extents& k_extents) {
  if (s.page_size <= 0) return std::nullopt;
  const std::int64_t per_sequence = (seqlen_kv + s.page_size - 1) / s.page_size;
  const std::optional<std::int64_t> pages = checked_count(Extents{batch, per_sequence}, sizeof(std::int32_t));
  if (!pages || *pages > INT32_MAX)
    return usage("shape", "page table of B x " + std::to_string(per_sequence), "2^31 pages");
  Extents table(static_cast<std::size_t>(*pages));
  std::iota(table.begin(), table.end(), 0);
  if (Outcome bad = maker.make_index(call.args.page_table, table, {batch, per_sequence})) return bad;
  k_extents = {*pages, s.page_size, k_extents[k_extents.size() - 2], k_extents.back()};
  if (!s.seqused_kv.empty()) return std::nullopt;
  return maker.make_index(call.args.seqused_kv, Extents(static_cast<std::size_t>(batch), seqlen_kv), {batch});
}

Extents row_extents(const Extents& lengths, std::int64_t batch, std::int64_t rows, std::int64_t heads,
                    std::int64_t dim) {
  if (lengths.empty()) return {batch, rows, heads, dim};
  return {offsets(lengths).back(), heads, dim};
}

Outcome make_scores(const Shapes& s, fovea_dtype dtype, ShapedCall& call, Maker& maker) {
  if (!s.mask_shape.empty()) {
    if (Outcome bad = maker.make(call.args.mask, FOVEA_BOOL, s.mask_shape)) return bad;
  }
  if (!s.bias_shape.empty()) {
    const fovea_dtype bias_dtype = dtype_of(s.bias_dtype).value_or(dtype);
    if (Outcome bad = maker.make(call.args.bias, bias_dtype, s.bias_shape)) return bad;
  }
  return s.sink ? maker.make(call.args.sink, FOVEA_F32, {s.heads_q}) : std::nullopt;
}

Outcome make_rows(const Shapes& s, fovea_dtype dtype, fovea_dtype out_dtype, ShapedCall& call, Maker& maker) {
  const std::int64_t heads_kv = or_else(s.heads_kv, s.heads_q);
  const std::int64_t seqlen_kv = or_else(s.seqlen_kv, s.seqlen_q);
  const std::int64_t batch = s.lengths_q.empty() ? s.batch : static_cast<std::int64_t>(s.lengths_q.size());
  const Extents q = row_extents(s.lengths_q, batch, s.seqlen_q, s.heads_q, s.head_dim);
  Extents k = row_extents(s.lengths_kv, batch, seqlen_kv, heads_kv, s.head_dim);
  if (Outcome bad = make_pages(s, call, maker, batch, seqlen_kv, k)) return bad;
  Extents v = k, out = q;
  v.back() = out.back() = or_else(s.head_dim_v, s.head_dim);
  if (Outcome bad = maker.make(call.args.q, dtype, q)) return bad;
  if (Outcome bad = maker.make(call.args.k, dtype, k)) return bad;
  if (Outcome bad = maker.make(call.args.v, dtype, v)) return bad;
  if (Outcome bad = maker.make(call.args.out, out_dtype, out)) return bad;
  const bool packed = !s.lengths_q.empty();
  return maker.make(call.args.lse, FOVEA_F32,
                    packed ? Extents{s.heads_q, q[0]} : Extents{batch, s.heads_q, s.seqlen_q});
}

}  // namespace

Result<ShapedCall> make_shaped_call(const Shapes& shapes, const fovea_forward_args& args, const std::string& out_dtype,
                                    Memory memory) {
  ShapedCall call{.args = args, .storage = {}};
  call.args.struct_size = sizeof(call.args);
  Maker maker(call, memory);
  const fovea_dtype dtype = dtype_of(shapes.dtype).value_or(FOVEA_F32);
  if (Outcome bad = make_lengths(shapes, call, maker)) return *bad;
  if (Outcome bad = make_rows(shapes, dtype, dtype_of(out_dtype).value_or(dtype), call, maker)) return *bad;
  if (Outcome bad = make_scores(shapes, dtype, call, maker)) return *bad;
  return call;
}

}  // namespace fovea::cli
