// The table of features: each one a small change to a Case. feature_cases() in generate.h is made from it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "cases/case.h"

namespace fovea::cases {

struct Feature {
  std::string_view name;
  // Features of one group say contradictory things and are never paired.
  std::string_view group;
  void (*apply)(Case&);
};

std::span<const Feature> features();
// feature_cases() begins with this many cases of one feature each.
std::size_t num_single_features();

}  // namespace fovea::cases
