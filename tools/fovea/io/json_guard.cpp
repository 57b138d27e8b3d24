// A SAX pass of nlohmann::json. Its parser keeps its own stack, so depth costs no call stack; returning false stops it.
#include "tools/fovea/io/json_guard.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace fovea::cli {
namespace {

using Json = nlohmann::json;

class Guard final : public nlohmann::json_sax<Json> {
 public:
  explicit Guard(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return value();
    return stop({"json_duplicate", 0, "the key '" + name + "' twice in one object", "each key once"});
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) override {
    return stop({"json_syntax", position, "'" + token.substr(0, 32) + "'", "valid JSON"});
  }

  const std::optional<JsonFault>& fault() const { return fault_; }

 private:
  bool stop(JsonFault fault) {
    fault_ = std::move(fault);
    return false;
  }

  bool value() {
    if (++values_ <= limits_.values) return true;
    return stop({"json_size", 0, "more than " + std::to_string(limits_.values) + " values", "fewer values"});
  }

  bool open() {
    if (keys_.size() == limits_.depth) {
      return stop({"json_depth", 0, "more than " + std::to_string(limits_.depth) + " levels", "flatter nesting"});
    }
    keys_.emplace_back();
    return value();
  }

  bool close() {
    keys_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the open objects; arrays have an empty set
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> check_json(std::string_view text, const JsonLimits& limits) {
  Guard guard(limits);
  Json::sax_parse(text, &guard);
  return guard.fault();
}

}  // namespace fovea::cli
