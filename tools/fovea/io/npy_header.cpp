// A recursive-descent parser for the three-key dict. It reads only the forms that NumPy writes: quoted strings without
// escapes, True/False, and a tuple of decimal integers.
#include "tools/fovea/io/npy_header.h"

#include <charconv>

#include "tools/fovea/io/tensor.h"

namespace fovea::cli {
namespace {

class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  std::variant<NpyHeader, NpyDictFault> parse() {
    if (!dict()) return fault_;
    return header_;
  }

 private:
  bool fail(std::string allowed) {
    fault_.position = at_;
    fault_.found = at_ < text_.size() ? "'" + std::string(text_.substr(at_, 16)) + "'" : "end of header";
    fault_.allowed = std::move(allowed);
    return false;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  bool expect(std::string_view token) { return take(token) || fail("'" + std::string(token) + "'"); }

  bool quoted(std::string& value) {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') return fail("a quoted string (structured dtypes are not read)");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail("a string with its closing quote");
    value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool shape(std::vector<std::int64_t>& extents) {
    if (!expect("(")) return false;
    while (!take(")")) {
      if (extents.size() == kMaxFileRank) return fail("at most " + std::to_string(kMaxFileRank) + " dimensions");
      skip_space();
      std::int64_t extent = 0;
      const char* const first = text_.data() + at_;
      const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return fail("an extent from 0 to 2^63-1");
      at_ += static_cast<std::size_t>(end - first);
      extents.push_back(extent);
      if (!take(",") && extents.size() > 1) return expect(")");
    }
    return true;
  }

  bool entry() {
    const std::size_t begin = at_;
    std::string key;
    if (!quoted(key) || !expect(":")) return false;
    bool* const seen = key == "descr" ? &seen_descr_ : key == "fortran_order" ? &seen_order_ : &seen_shape_;
    if ((seen == &seen_shape_ && key != "shape") || *seen) {
      at_ = begin;
      return fail("the keys descr, fortran_order and shape, each once");
    }
    *seen = true;
    if (key == "descr") return quoted(header_.descr);
    if (key == "shape") return shape(header_.shape);
    header_.fortran_order = take("True");
    return header_.fortran_order || take("False") || fail("True or False");
  }

  bool dict() {
    if (!expect("{")) return false;
    while (!take("}")) {
      if (!entry()) return false;
      if (!take(",")) {
        if (!expect("}")) return false;
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) return fail("only padding after the dict");
    return (seen_descr_ && seen_order_ && seen_shape_) || fail("the keys descr, fortran_order and shape");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  NpyHeader header_;
  NpyDictFault fault_;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

}  // namespace

std::variant<NpyHeader, NpyDictFault> parse_npy_dict(std::string_view text) { return DictParser(text).parse(); }

std::string_view npy_descr(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return "<f8";
    case ElementType::f32:
      return "<f4";
    case ElementType::f16:
      return "<f2";
    case ElementType::bf16:
      return "";
    case ElementType::i64:
      return "<i8";
    case ElementType::i32:
      return "<i4";
    case ElementType::u8:
      return "|u1";
    case ElementType::boolean:
      return "|b1";
  }
  return "";
}

std::string npy_preamble(std::string_view descr, std::span<const std::int64_t> shape) {
  std::string dict = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) dict += std::to_string(extent) + ", ";
  if (shape.size() > 1) dict.resize(dict.size() - 2);
  dict += "), }";
  constexpr std::size_t kFixed = 10;  // magic 6, version 2, length 2
  dict.append(63 - (kFixed + dict.size()) % 64, ' ');
  dict += '\n';
  std::string preamble = "\x93NUMPY";
  preamble += '\x01';
  preamble += '\0';
  preamble += static_cast<char>(dict.size() & 0xff);
  preamble += static_cast<char>(dict.size() >> 8);
  return preamble + dict;
}

}  // namespace fovea::cli
