// The inputs of an Instance. Outputs and what guards them are in outputs.cpp.
#include "cases/materialize.h"

#include <cstring>
#include <limits>

#include "cases/random.h"
#include "reference/numbers.h"

namespace fovea::cases {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t bytes_of(fovea_dtype dtype) {
  if (dtype == FOVEA_BOOL) return 1;
  return dtype == FOVEA_BF16 || dtype == FOVEA_F16 ? 2 : 4;
}

std::uint64_t bits(const Case& c, Stream stream, std::int64_t index) {
  return random_bits(c.seed, stream, static_cast<std::uint64_t>(index));
}

// The index of logical element (b, s, h, d): independent of every extent, so that values do not depend on how long
// other sequences are or how many heads there are.
std::int64_t logical(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) {
  const std::uint64_t row = mix(static_cast<std::uint64_t>((b << 24) + s));
  return static_cast<std::int64_t>(row + static_cast<std::uint64_t>((h << 10) + d));
}

double q_value(const Case& c, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) {
  const double x = normal(bits(c, Stream::q, logical(b, i, h, d)));
  if (c.values == Values::peaked) return 6 * x;
  return c.values == Values::shifted ? x + 1 : x;
}

double k_value(const Case& c, std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) {
  const double x = normal(bits(c, Stream::k, logical(b, c.values == Values::equal ? 0 : j, h, d)));
  if (c.values == Values::special && d == 0 && bits(c, Stream::k, logical(b, j, h, 1023)) % 40 == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return c.values == Values::shifted ? x + 2 : x;
}

double v_value(const Case& c, std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) {
  const std::uint64_t word = bits(c, Stream::v, logical(b, j, h, d));
  if (c.values == Values::special) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (word % 200 == 0) return infinity;
    if (word % 200 == 1) return -infinity;
    if (word % 400 == 2) return std::numeric_limits<double>::quiet_NaN();
  }
  return normal(word);
}

// A tensor over `place`; varlen drops the outer dimension.
fovea_tensor view(std::byte* storage, fovea_dtype dtype, const Placement& place, const Extents& e, bool varlen) {
  fovea_tensor t{};
  t.data = storage + place.base * static_cast<std::int64_t>(bytes_of(dtype));
  t.dtype = dtype;
  const std::int64_t shape[] = {e.outer, e.rows, e.heads, e.dim};
  const std::int64_t strides[] = {place.outer, place.row, place.head, place.element};
  t.rank = varlen ? 3 : 4;
  for (int i = 0; i < t.rank; ++i) {
    t.shape[i] = shape[i + 4 - t.rank];
    t.strides[i] = strides[i + 4 - t.rank];
  }
  return t;
}

}  // namespace

Instance::Instance(const Case& c) : case_(c), geometry_(make_geometry(c)) {
  args_.struct_size = sizeof(fovea_forward_args);
  make_q();
  make_kv();
  make_score_operands();
  make_indices();
  make_options();
  make_outputs();
  reset_outputs();
  seal();
}

Instance::Storage Instance::allocate(fovea_dtype dtype, std::int64_t elements, bool input) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * bytes_of(dtype);
  buffers_.emplace_back(bytes);
  const std::size_t index = buffers_.size() - 1;
  if (input) inputs_.push_back(index);
  const bool real = dtype == FOVEA_F32 || dtype == FOVEA_BF16 || dtype == FOVEA_F16;
  fovea_tensor t{};
  t.data = buffers_.back().data();
  t.dtype = dtype;
  for (std::int64_t e = 0; real && input && case_.poison && e < elements; ++e) reference::store(t, e, kNaN);
  return {buffers_.back().data(), index};
}

std::vector<HostRange> Instance::ranges() {
  std::vector<HostRange> all;
  for (Buffer& buffer : buffers_) all.push_back({buffer.data(), buffer.size()});
  return all;
}

void Instance::make_q() {
  const Case& c = case_;
  const bool varlen = c.q_layout == Layout::varlen;
  const Extents e{varlen ? 1 : c.batch, geometry_.q_storage, c.num_heads_q, c.head_dim_qk};
  const Placement place = cases::place(c.strides == Strides::expanded ? Strides::bshd : c.strides, e);
  args_.q = view(allocate(c.dtype, place.storage, true).data, c.dtype, place, e, varlen);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const Rows& rows = geometry_.q[static_cast<std::size_t>(b)];
    for (std::int64_t i = 0; i < rows.used; ++i) {
      for (std::int64_t h = 0; h < e.heads; ++h) {
        for (std::int64_t d = 0; d < e.dim; ++d) {
          const std::int64_t offset = place.at(varlen ? 0 : b, rows.begin + i, h, d) - place.base;
          reference::store(args_.q, offset, q_value(c, b, i, h, d));
        }
      }
    }
  }
}

void Instance::make_kv() {
  const Case& c = case_;
  const bool varlen = c.kv_layout == Layout::varlen;
  const std::int64_t outer = c.kv_layout == Layout::paged ? geometry_.pages : varlen ? 1 : c.batch;
  const Extents ek{outer, geometry_.kv_storage, c.num_heads_kv, c.head_dim_qk};
  const Extents ev{outer, geometry_.kv_storage, c.num_heads_kv, c.head_dim_v};
  if (c.strides == Strides::qkv) {
    const std::int64_t k_row = ek.heads * ek.dim;
    const std::int64_t row = k_row + ev.heads * ev.dim;
    const Placement k_place = fused(ek, row, 0);
    const Placement v_place = fused(ev, row, k_row);
    std::byte* storage = allocate(c.dtype, std::max(k_place.storage, v_place.storage), true).data;
    args_.k = view(storage, c.dtype, k_place, ek, varlen);
    args_.v = view(storage, c.dtype, v_place, ev, varlen);
  } else {
    const Placement k_place = place(c.strides, ek);
    const Placement v_place = place(c.strides, ev);
    args_.k = view(allocate(c.dtype, k_place.storage, true).data, c.dtype, k_place, ek, varlen);
    args_.v = view(allocate(c.dtype, v_place.storage, true).data, c.dtype, v_place, ev, varlen);
  }
  if (!ek.empty()) fill_keys(args_.k, false);
  if (!ev.empty()) fill_keys(args_.v, true);
}

// Keys of a shared prefix are those of entry 0; heads of an expanded view are those of head 0.
void Instance::fill_keys(const fovea_tensor& t, bool values) {
  const Case& c = case_;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const auto entry = static_cast<std::size_t>(b);
    for (std::int64_t j = 0; j < geometry_.kv[entry].used; ++j) {
      const std::int64_t owner = j < geometry_.shared_prefix[entry] ? 0 : b;
      for (std::int64_t h = 0; h < c.num_heads_kv; ++h) {
        const std::int64_t head = c.strides == Strides::expanded ? 0 : h;
        for (std::int64_t d = 0; d < t.shape[t.rank - 1]; ++d) {
          fovea_tensor element = t;
          element.data = key_address(t, b, j, h, d);
          reference::store(element, 0, values ? v_value(c, owner, j, head, d) : k_value(c, owner, j, head, d));
        }
      }
    }
  }
}

std::byte* Instance::key_address(const fovea_tensor& t, std::int64_t b, std::int64_t j, std::int64_t h,
                                 std::int64_t d) const {
  std::int64_t outer = b;
  std::int64_t row = geometry_.kv[static_cast<std::size_t>(b)].begin + j;
  if (case_.kv_layout == Layout::varlen) outer = 0;
  if (case_.kv_layout == Layout::paged) {
    outer = geometry_.page_table[static_cast<std::size_t>(b * geometry_.table_width + j / case_.page_size)];
    row = j % case_.page_size;
  }
  const std::int64_t* s = t.strides + t.rank - 3;
  const std::int64_t offset = (t.rank == 4 ? outer * t.strides[0] : 0) + row * s[0] + h * s[1] + d * s[2];
  return static_cast<std::byte*>(t.data) + offset * static_cast<std::int64_t>(bytes_of(case_.dtype));
}

double Instance::k(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) const {
  fovea_tensor element = args_.k;
  element.data = key_address(args_.k, b, j, h, d);
  return reference::load(element, 0);
}

double Instance::v(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) const {
  fovea_tensor element = args_.v;
  element.data = key_address(args_.v, b, j, h, d);
  return reference::load(element, 0);
}

void Instance::set_k(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d, double value) {
  fovea_tensor element = args_.k;
  element.data = key_address(args_.k, b, j, h, d);
  reference::store(element, 0, value);
}

void Instance::set_v(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d, double value) {
  fovea_tensor element = args_.v;
  element.data = key_address(args_.v, b, j, h, d);
  reference::store(element, 0, value);
}

void Instance::set_mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, bool visible) {
  const std::int64_t* s = args_.mask.strides;
  static_cast<std::byte*>(args_.mask.data)[b * s[0] + h * s[1] + i * s[2] + j * s[3]] = std::byte{visible};
}

void Instance::set_bias(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, double value) {
  const std::int64_t* s = args_.bias.strides;
  reference::store(args_.bias, b * s[0] + h * s[1] + i * s[2] + j * s[3], value);
}

// [B|1, heads, Sq|1, Sk], packed; where `expanded`, extents of 1 become full with stride 0.
fovea_tensor Instance::score_operand(bool bias) {
  const Case& c = case_;
  const Heads heads = bias ? c.bias : c.mask;
  const bool expanded = bias ? c.bias_expanded : c.mask_expanded;
  const fovea_dtype dtype = bias ? c.bias_dtype : FOVEA_BOOL;
  const std::int64_t extents[] = {(bias ? c.bias_batch : c.mask_batch) ? c.batch : 1,
                                  heads == Heads::q    ? c.num_heads_q
                                  : heads == Heads::kv ? c.num_heads_kv
                                                       : 1,
                                  (bias ? c.bias_rows : c.mask_rows) ? c.seqlen_q : 1, c.seqlen_kv};
  const std::int64_t count = extents[0] * extents[1] * extents[2] * extents[3];
  fovea_tensor t{};
  t.data = allocate(dtype, count, true).data;
  t.dtype = dtype;
  t.rank = 4;
  std::int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    t.shape[i] = extents[i];
    t.strides[i] = stride;
    stride *= extents[i];
  }
  const std::int64_t full[] = {c.batch, c.num_heads_q, c.seqlen_q, c.seqlen_kv};
  for (int i = 0; i < 3 && expanded; ++i) {
    if (extents[i] != 1) continue;
    t.shape[i] = full[i];
    t.strides[i] = 0;
  }
  std::int64_t longest = 0;
  for (const Rows& rows : geometry_.kv) longest = std::max(longest, rows.used);
  for (std::int64_t e = 0; e < count; ++e) {
    const std::uint64_t random = bits(c, bias ? Stream::bias : Stream::mask, e);
    if (!bias) {
      // Any non-zero byte is true.
      const std::uint64_t truth = 1 + random % 255;
      static_cast<std::byte*>(t.data)[e] =
          static_cast<std::byte>(uniform(random) < static_cast<double>(c.mask_density) ? truth : 0);
    } else if (!c.poison || e % c.seqlen_kv < longest) {
      const bool hidden = uniform(mix(random)) < static_cast<double>(c.bias_minus_inf);
      reference::store(t, e, hidden ? -kInfinity : normal(random));
    }
  }
  return t;
}

void Instance::make_score_operands() {
  const Case& c = case_;
  if (c.mask != Heads::none) args_.mask = score_operand(false);
  if (c.bias != Heads::none) args_.bias = score_operand(true);
  if (c.sink == Sink::none) return;
  fovea_tensor& t = args_.sink;
  t.data = allocate(FOVEA_F32, c.num_heads_q, true).data;
  t.dtype = FOVEA_F32;
  t.rank = 1;
  t.shape[0] = c.num_heads_q;
  t.strides[0] = 1;
  for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
    double value = 2 * normal(bits(c, Stream::sink, h));
    if (c.sink == Sink::minus_inf || (c.sink == Sink::mixed && h % 3 == 1)) value = -kInfinity;
    if (c.sink == Sink::plus_inf || (c.sink == Sink::mixed && h % 3 == 2)) value = kInfinity;
    reference::store(t, h, value);
  }
}

// int32 [n]; with stride 2 where the case has strided elements.
fovea_tensor Instance::indices(const std::vector<std::int32_t>& values) {
  const std::int64_t stride = case_.strides == Strides::stride_d2 ? 2 : 1;
  const auto count = static_cast<std::int64_t>(values.size());
  fovea_tensor t{};
  t.data = allocate(FOVEA_I32, (count - 1) * stride + 1, true).data;
  t.dtype = FOVEA_I32;
  t.rank = 1;
  t.shape[0] = count;
  t.strides[0] = stride;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<std::byte*>(t.data) + i * stride * 4, &values[static_cast<std::size_t>(i)], 4);
  }
  return t;
}

void Instance::make_indices() {
  const Case& c = case_;
  const auto offsets = [](const std::vector<Rows>& rows) {
    std::vector<std::int32_t> result{static_cast<std::int32_t>(rows.front().begin)};
    for (const Rows& r : rows) result.push_back(static_cast<std::int32_t>(r.begin + r.rows));
    return result;
  };
  const auto used = [](const std::vector<Rows>& rows) {
    std::vector<std::int32_t> result;
    for (const Rows& r : rows) result.push_back(static_cast<std::int32_t>(r.used));
    return result;
  };
  if (c.q_layout == Layout::varlen) args_.cu_seqlens_q = indices(offsets(geometry_.q));
  if (c.kv_layout == Layout::varlen) args_.cu_seqlens_kv = indices(offsets(geometry_.kv));
  if (c.seqused_q) args_.seqused_q = indices(used(geometry_.q));
  if (c.seqused_kv || c.kv_layout == Layout::paged) args_.seqused_kv = indices(used(geometry_.kv));
  if (c.kv_layout != Layout::paged) return;
  fovea_tensor& t = args_.page_table;
  t = indices(geometry_.page_table);
  t.rank = 2;
  t.shape[0] = c.batch;
  t.shape[1] = geometry_.table_width;
  t.strides[1] = t.strides[0];
  t.strides[0] = geometry_.table_width * t.strides[1];
}

void Instance::make_options() {
  const Case& c = case_;
  const auto flag = [&](bool on, std::uint32_t bit) { args_.flags |= on ? bit : 0U; };
  flag(c.causal, FOVEA_FLAG_CAUSAL);
  flag(c.window_left.has_value(), FOVEA_FLAG_WINDOW_LEFT);
  flag(c.window_right.has_value(), FOVEA_FLAG_WINDOW_RIGHT);
  flag(c.q_offset.has_value(), FOVEA_FLAG_Q_OFFSET);
  flag(c.kv_offset.has_value(), FOVEA_FLAG_KV_OFFSET);
  flag(c.scale.has_value(), FOVEA_FLAG_SOFTMAX_SCALE);
  flag(c.batch_invariant, FOVEA_FLAG_BATCH_INVARIANT);
  args_.window_left = c.window_left.value_or(0);
  args_.window_right = c.window_right.value_or(0);
  args_.q_offset = c.q_offset.value_or(0);
  args_.kv_offset = c.kv_offset.value_or(0);
  args_.softmax_scale = c.scale.value_or(0.0F);
  args_.softcap = c.softcap;
  args_.num_splits = c.num_splits;
}

}  // namespace fovea::cases
