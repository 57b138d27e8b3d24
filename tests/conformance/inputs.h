// Inputs of the conformance cases: a function of case and CTA, so that recordings hold outputs only.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/cases.h"

namespace fovea::conformance {

// CTA i of a tiny case belongs to class i modulo this.
inline constexpr u32 kTinyClasses = 10;

// The words of CTAs 0 .. ctas - 1; those of fewer CTAs are a prefix.
std::vector<u32> make_inputs(const Case& test, u32 ctas);

// What an input word feeds: operand A, operand B or the accumulator. Meaningful for the mma and wgmma cases.
enum class Operand : u8 { a, b, c };
Operand operand_of(const Case& test, u32 word_in_cta);

std::uint64_t digest(const std::vector<u32>& words);

}  // namespace fovea::conformance
