// Generators of cases. Everything here is a pure function: the same call gives the same cases on every machine.
// What a case means is in case.h; running and judging one is in run.h.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/case.h"

namespace fovea::cases {

// The 240 shapes: {fp16, bf16} x causal {0, 1} x B {1, 2} x S {128, 512, 1024, 2048, 4096} x {MHA, GQA, MQA} x
// D {64, 128}.
std::vector<Case> standard_grid();

// Every feature of the contract alone and each pair that makes a valid call, on small odd sizes and every dtype in
// turn.
std::vector<Case> feature_cases();

// A valid case drawn from everything that Case can say.
Case random_case(std::uint64_t seed);

// Small cases around the edges of GPU tiles; see kernel_cases.cpp.
std::vector<Case> kernel_cases();

// A subset for every build: each feature alone, some pairs, some random cases, the small grid points.
std::vector<Case> quick();

}  // namespace fovea::cases
