// The comparator's loop, and the limits of contract section 5.
#include "cases/compare.h"

#include <algorithm>
#include <sstream>

namespace fovea::cases {
namespace {

bool same_kind(double actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::isfinite(actual);
}

void note_bad(Comparison& r, std::int64_t index, double actual, double expected, bool kind) {
  ++r.bad;
  r.passed = false;
  // A wrong NaN or Inf says more than a wrong number: the first of those wins.
  if (r.first_bad >= 0 && (r.first_bad_is_kind || !kind)) return;
  r.first_bad = index;
  r.first_bad_is_kind = kind;
  r.first_actual = actual;
  r.first_expected = expected;
}

}  // namespace

Comparison compare(std::span<const double> actual, std::span<const double> expected, Limit limit) {
  Comparison r;
  r.compared = static_cast<std::int64_t>(std::min(actual.size(), expected.size()));
  if (actual.size() != expected.size()) r.passed = false;
  for (std::int64_t i = 0; i < r.compared; ++i) {
    const double a = actual[static_cast<std::size_t>(i)];
    const double e = expected[static_cast<std::size_t>(i)];
    if (!same_kind(a, e)) {
      note_bad(r, i, a, e, true);
      continue;
    }
    if (!std::isfinite(e)) continue;
    const double error = std::fabs(a - e);
    if (r.max_error_at < 0 || error > r.max_error) {
      r.max_error = error;
      r.max_error_at = i;
    }
    if (!(error <= limit.at(e))) note_bad(r, i, a, e, false);
  }
  return r;
}

double worst_error(std::span<const double> plain, std::span<const double> expected) {
  double worst = 0;
  for (std::size_t i = 0; i < std::min(plain.size(), expected.size()); ++i) {
    const double error = std::fabs(plain[i] - expected[i]);
    if (std::isfinite(error)) worst = std::max(worst, error);
  }
  return worst;
}

double largest(std::span<const double> values) {
  double result = 0;
  for (const double v : values) {
    if (std::isfinite(v)) result = std::max(result, std::fabs(v));
  }
  return result;
}

double out_limit(double worst_plain, double largest_expected, fovea_dtype out_dtype) {
  double unit = 8 * 0x1p-24;
  if (out_dtype == FOVEA_BF16) unit = 0x1p-8;
  if (out_dtype == FOVEA_F16) unit = 0x1p-11;
  return 2 * worst_plain + unit * largest_expected;
}

Limit lse_limit(fovea_dtype dtype) { return {.absolute = dtype == FOVEA_F32 ? 1e-5 : 1e-3, .relative = 16 * 0x1p-24}; }

std::string describe(const Comparison& r, const std::string& where, Limit limit) {
  std::ostringstream text;
  text.precision(9);
  text << r.bad << " of " << r.compared << " bad";
  if (r.first_bad >= 0) {
    text << ", first at " << where << ": got " << r.first_actual << ", expected " << r.first_expected;
  }
  text << "; largest error " << r.max_error << ", allowed " << limit.absolute;
  if (limit.relative > 0) text << " + " << limit.relative << " of the expected value";
  return text.str();
}

}  // namespace fovea::cases
