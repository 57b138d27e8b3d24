// Names of targets, and back.
#include "jit/target.h"

#include <charconv>

#include "core/text.h"

namespace fovea {
namespace {

constexpr int kFirstSpecificSm = 90;
constexpr int kMinSm = 80;
constexpr int kMaxSm = 129;

}  // namespace

std::string name(const Target& target) {
  if (target.kind == Target::Kind::model) return "model";
  return cat("sm_", target.sm, target.sm >= kFirstSpecificSm ? "a" : "");
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  std::string_view digits = text;
  if (digits.starts_with("sm_")) {
    digits.remove_prefix(3);
    if (digits.ends_with('a')) digits.remove_suffix(1);
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), target.sm);
    const bool whole = failure == std::errc{} && end == digits.data() + digits.size();
    const bool suffix_fits = text.ends_with('a') ? target.sm >= kFirstSpecificSm : true;
    if (whole && suffix_fits && target.sm >= kMinSm && target.sm <= kMaxSm) return target;
  }
  return Error{.status = FOVEA_UNSUPPORTED,
               .asked = cat("target ", text),
               .allowed = "sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a, and others of those generations",
               .why = "kernels need an architecture from 8.0 on",
               .hint = "fovea doctor prints the architecture of this machine's GPUs"};
}

}  // namespace fovea
