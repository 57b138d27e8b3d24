// The text form of a Case: one table of fields serves printing, parsing and the defaults.
#include "cases/case.h"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <vector>

namespace fovea::cases {
namespace {

template <class E>
struct Named {
  E value;
  std::string_view name;
};
template <class E>
Named(E, std::string_view) -> Named<E>;

constexpr std::array kDtypes{Named{FOVEA_F32, "f32"}, Named{FOVEA_BF16, "bf16"}, Named{FOVEA_F16, "f16"}};
constexpr std::array kLayouts{Named{Layout::dense, "dense"}, Named{Layout::varlen, "varlen"},
                              Named{Layout::paged, "paged"}};
constexpr std::array kLengths{Named{Lengths::full, "full"}, Named{Lengths::random, "random"},
                              Named{Lengths::gaps, "gaps"}};
constexpr std::array kPageOrders{Named{PageOrder::forward, "forward"}, Named{PageOrder::shuffled, "shuffled"}};
constexpr std::array kHeads{Named{Heads::none, "none"}, Named{Heads::one, "one"}, Named{Heads::kv, "kv"},
                            Named{Heads::q, "q"}};
constexpr std::array kSinks{Named{Sink::none, "none"}, Named{Sink::random, "random"},
                            Named{Sink::minus_inf, "minus_inf"}, Named{Sink::plus_inf, "plus_inf"},
                            Named{Sink::mixed, "mixed"}};
constexpr std::array kStrides{Named{Strides::bshd, "bshd"},
                              Named{Strides::bhsd, "bhsd"},
                              Named{Strides::qkv, "qkv"},
                              Named{Strides::padded, "padded"},
                              Named{Strides::expanded, "expanded"},
                              Named{Strides::unaligned, "unaligned"},
                              Named{Strides::stride_d2, "stride_d2"},
                              Named{Strides::reversed, "reversed"}};
constexpr std::array kValues{Named{Values::normal, "normal"}, Named{Values::peaked, "peaked"},
                             Named{Values::equal, "equal"}, Named{Values::shifted, "shifted"},
                             Named{Values::special, "special"}};

constexpr const auto& names(fovea_dtype) { return kDtypes; }
constexpr const auto& names(Layout) { return kLayouts; }
constexpr const auto& names(Lengths) { return kLengths; }
constexpr const auto& names(PageOrder) { return kPageOrders; }
constexpr const auto& names(Heads) { return kHeads; }
constexpr const auto& names(Sink) { return kSinks; }
constexpr const auto& names(Strides) { return kStrides; }
constexpr const auto& names(Values) { return kValues; }

template <class T>
std::string format(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& n : names(value)) {
      if (n.value == value) return std::string(n.name);
    }
    return "?";
  } else {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return std::string(text.data(), end);
  }
}

template <class T>
std::string format(const std::optional<T>& value) {
  return value ? format(*value) : std::string();
}

template <class T>
bool read(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "1";
    return text == "1" || text == "0";
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& n : names(value)) {
      if (n.name == text) {
        value = n.value;
        return true;
      }
    }
    return false;
  } else {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size();
  }
}

template <class T>
bool read(std::string_view text, std::optional<T>& value) {
  T number{};
  if (!read(text, number)) return false;
  value = number;
  return true;
}

// Calls f(key, field, always printed) for every field of the case, in the order of the line.
template <class C, class F>
void for_each_field(C& c, F f) {
  f("seed", c.seed, true);
  f("dtype", c.dtype, true);
  f("out", c.out_dtype, true);
  f("b", c.batch, true);
  f("sq", c.seqlen_q, true);
  f("sk", c.seqlen_kv, true);
  f("hq", c.num_heads_q, true);
  f("hkv", c.num_heads_kv, true);
  f("dqk", c.head_dim_qk, true);
  f("dv", c.head_dim_v, true);
  f("q", c.q_layout, false);
  f("kv", c.kv_layout, false);
  f("lengths", c.lengths, false);
  f("rows_before", c.rows_before, false);
  f("rows_after", c.rows_after, false);
  f("page_size", c.page_size, false);
  f("page_order", c.page_order, false);
  f("shared_pages", c.shared_pages, false);
  f("seqused_q", c.seqused_q, false);
  f("seqused_kv", c.seqused_kv, false);
  f("causal", c.causal, false);
  f("window_left", c.window_left, false);
  f("window_right", c.window_right, false);
  f("q_offset", c.q_offset, false);
  f("kv_offset", c.kv_offset, false);
  f("scale", c.scale, false);
  f("softcap", c.softcap, false);
  f("sink", c.sink, false);
  f("mask", c.mask, false);
  f("mask_batch", c.mask_batch, false);
  f("mask_rows", c.mask_rows, false);
  f("mask_expanded", c.mask_expanded, false);
  f("mask_density", c.mask_density, false);
  f("bias", c.bias, false);
  f("bias_batch", c.bias_batch, false);
  f("bias_rows", c.bias_rows, false);
  f("bias_expanded", c.bias_expanded, false);
  f("bias_dtype", c.bias_dtype, false);
  f("bias_minus_inf", c.bias_minus_inf, false);
  f("strides", c.strides, false);
  f("values", c.values, false);
  f("poison", c.poison, false);
  f("lse", c.lse, false);
  f("splits", c.num_splits, false);
  f("batch_invariant", c.batch_invariant, false);
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return result;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t\r\n"), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

ParsedCase refuse(std::string error) { return {std::nullopt, std::move(error)}; }

bool within(double value, double low, double high) { return value >= low && value <= high; }

std::string validate_shape(const Case& c) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  if (!within(double(c.batch), 1, 1 << 20)) return "b: must be 1..2^20";
  if (c.seqlen_q < 0 || c.seqlen_q > kMaxExtent) return "sq: must be 0..2^24";
  if (c.seqlen_kv < 0 || c.seqlen_kv > kMaxExtent) return "sk: must be 0..2^24";
  if (!within(double(c.num_heads_q), 1, 1 << 20)) return "hq: must be 1..2^20";
  if (!within(double(c.num_heads_kv), 1, 1 << 20)) return "hkv: must be 1..2^20";
  if (c.num_heads_q % c.num_heads_kv != 0) return "hq: must be a multiple of hkv";
  if (!within(double(c.head_dim_qk), 1, 1024)) return "dqk: must be 1..1024";
  if (!within(double(c.head_dim_v), 1, 1024)) return "dv: must be 1..1024";
  const double row = double(std::max(c.num_heads_q, c.num_heads_kv)) * double(c.head_dim_qk + c.head_dim_v);
  const double longest = double(std::max(c.seqlen_q, c.seqlen_kv));
  if (double(c.batch) * longest * row > 4e9) return "b: the tensors would not fit (over 4e9 elements)";
  return {};
}

std::string validate_features(const Case& c) {
  constexpr std::int64_t kMaxOffset = std::int64_t{1} << 40;
  if (c.q_layout == Layout::paged) return "q: cannot be paged";
  if (!within(double(c.rows_before), 0, 1 << 20)) return "rows_before: must be 0..2^20";
  if (!within(double(c.rows_after), 0, 1 << 20)) return "rows_after: must be 0..2^20";
  if (!within(double(c.page_size), 1, 1 << 20)) return "page_size: must be 1..2^20";
  if (c.window_left && !within(double(*c.window_left), 0, double(kMaxOffset))) return "window_left: must be 0..2^40";
  if (c.window_right && !within(double(*c.window_right), 0, double(kMaxOffset))) return "window_right: must be 0..2^40";
  if (c.q_offset && std::abs(double(*c.q_offset)) > double(kMaxOffset)) return "q_offset: must be within 2^40";
  if (c.kv_offset && std::abs(double(*c.kv_offset)) > double(kMaxOffset)) return "kv_offset: must be within 2^40";
  if (c.scale && !std::isfinite(*c.scale)) return "scale: must be finite";
  if (!std::isfinite(c.softcap) || c.softcap < 0) return "softcap: must be finite and not negative";
  if (!within(double(c.mask_density), 0, 1)) return "mask_density: must be 0..1";
  if (!within(double(c.bias_minus_inf), 0, 1)) return "bias_minus_inf: must be 0..1";
  if (!within(double(c.num_splits), 0, 256)) return "splits: must be 0..256";
  return {};
}

}  // namespace

std::string to_string(const Case& c) {
  std::vector<std::string> defaults;
  const Case plain;
  for_each_field(plain, [&](std::string_view, const auto& field, bool) { defaults.push_back(format(field)); });
  std::string line;
  std::size_t index = 0;
  for_each_field(c, [&](std::string_view key, const auto& field, bool always) {
    const std::string text = format(field);
    if (always || text != defaults[index]) {
      if (!line.empty()) line += ' ';
      line.append(key).append("=").append(text);
    }
    ++index;
  });
  return line;
}

ParsedCase parse(std::string_view line) {
  Case c;
  std::vector<std::string_view> seen;
  for (const std::string_view word : words(line)) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return refuse("expected key=value, got '" + std::string(word) + "'");
    const std::string_view key = word.substr(0, equals);
    const std::string_view text = word.substr(equals + 1);
    for (const std::string_view other : seen) {
      if (other == key) return refuse(std::string(key) + ": given twice");
    }
    seen.push_back(key);
    bool known = false;
    bool good = false;
    for_each_field(c, [&](std::string_view name, auto& field, bool) {
      if (name != key) return;
      known = true;
      good = read(text, field);
    });
    if (!known) return refuse(std::string(key) + ": no such key");
    if (!good) return refuse(std::string(key) + ": cannot read '" + std::string(text) + "'");
  }
  std::string error = validate(c);
  if (!error.empty()) return refuse(std::move(error));
  return {c, {}};
}

std::string validate(const Case& c) {
  std::string error = validate_shape(c);
  return error.empty() ? validate_features(c) : error;
}

}  // namespace fovea::cases
