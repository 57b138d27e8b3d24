// What the property tests share: small random cases that shrink, and calls whose outputs lie in storage of their own.
// The properties themselves are in property_*.cpp.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cases/materialize.h"
#include "fovea/fovea.h"

namespace fovea::property {

using cases::Case;
using cases::Instance;

class Property : public ::testing::Test {
 protected:
  Property();
  fovea_context* context() const { return context_.get(); }

 private:
  std::unique_ptr<fovea_context, decltype(&fovea_context_destroy)> context_{nullptr, &fovea_context_destroy};
};

// A small case: any dtype, head counts and head dims; nothing optional but lse. out is f32.
Case draw_case();
// Switches causal and windows on or off.
void draw_visibility(Case& c);

// out and lse of one call, in packed storage that was filled with NaN.
class Answer {
 public:
  // Runs `args` with out and lse replaced. The call must succeed.
  Answer(fovea_context* context, fovea_forward_args args);
  // Storage to be filled by the caller; `shape` as out of `like`.
  explicit Answer(const fovea_forward_args& like);

  // Whether the cpu backend gave it; see test_backend.h.
  bool from_cpu() const { return from_cpu_; }
  const fovea_tensor& out_view() const { return out_; }
  const fovea_tensor& lse_view() const { return lse_; }
  // In storage coordinates: varlen has b = 0 and s a packed row.
  float out(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const;
  float lse(std::int64_t b, std::int64_t h, std::int64_t s) const;

 private:
  fovea_tensor out_, lse_;
  bool from_cpu_ = false;
  std::vector<float> out_storage_, lse_storage_;
};

// Which row of an answer holds row i of batch entry b.
struct Place {
  std::int64_t b, s;
};
using PlaceOf = std::function<Place(std::int64_t b, std::int64_t i)>;
PlaceOf places(const Instance& instance);

// Row by row over all of `c`'s queries in `instance`; `keep` may leave rows out.
struct Rows {
  const Instance& instance;
  std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i)> keep = nullptr;
};
// RC_FAILs with the case's line and the coordinates at the first difference.
void expect_close(const Rows& rows, const Answer& actual, const PlaceOf& actual_place, const Answer& expected,
                  const PlaceOf& expected_place, double lse_shift = 0);
void expect_same_bits(const Rows& rows, const Answer& actual, const PlaceOf& actual_place, const Answer& expected,
                      const PlaceOf& expected_place);

// The call for batch entry b alone, on the same storage and in the same layout.
fovea_forward_args alone(const Instance& instance, std::int64_t b);

// Visibility by lengths, causal and windows, written out a second time.
bool in_reach(const Instance& instance, std::int64_t b, std::int64_t i, std::int64_t j);

}  // namespace fovea::property
