// The comparator: element by element, NaN and Inf positions first, then |actual - expected| <= limit.
// NaN never passes by accident: a value passes only when a comparison that is false for NaN says so.
// It knows nothing of attention; run.h says which element lies where.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "fovea/fovea.h"

namespace fovea::cases {

// What an element may be off: |actual - expected| <= absolute + relative * |expected|.
struct Limit {
  double absolute = 0;
  double relative = 0;
  double at(double expected) const { return absolute + relative * std::fabs(expected); }
};

struct Comparison {
  bool passed = true;
  std::int64_t compared = 0;
  std::int64_t bad = 0;
  std::int64_t first_bad = -1;     // index into the spans; of the first non-finite mismatch if there is one
  bool first_bad_is_kind = false;  // one side is NaN or Inf and the other is not the same
  double first_actual = 0;
  double first_expected = 0;
  double max_error = 0;  // over elements where both are finite
  std::int64_t max_error_at = -1;
};

// NaN matches NaN, +inf matches +inf, -inf matches -inf, finite matches finite within `limit` (-0 equals +0).
// Sizes that differ fail.
Comparison compare(std::span<const double> actual, std::span<const double> expected, Limit limit);

// The largest |plain - expected| over elements where both are finite; 0 when there is none.
double worst_error(std::span<const double> plain, std::span<const double> expected);

// The largest |value| among the finite ones; 0 when there is none.
double largest(std::span<const double> values);

// Contract section 5: what an element of out may err when the plain evaluation's worst error and the largest expected
// |out| are these: 2 * worst_plain + floor. The floor is one rounding of the largest element to out_dtype: the unit
// roundoff 2^-8 (bf16) or 2^-11 (f16) of it; for f32 eight of 2^-24, since sums and weights are fp32 as well. So where
// the plain evaluation happens to be exact, a correctly rounded result still passes.
double out_limit(double worst_plain, double largest_expected, fovea_dtype out_dtype);
// What lse may be off for inputs of this dtype: 1e-3 (bf16, f16) or 1e-5 (f32), plus 16 fp32 roundings of lse: lse is
// stored in fp32, whose neighbours at 256 are 3e-5 apart.
Limit lse_limit(fovea_dtype dtype);

// "3 of 640 bad, first at (b=0, h=1, i=2, d=3): got 1, expected 2; largest error ..." ; `where` names first_bad.
std::string describe(const Comparison& result, const std::string& where, Limit limit);

}  // namespace fovea::cases
