// The arithmetic of a tensor core: one fused sum of products and addend, aligned to the largest exponent and truncated.
// The PTX ISA leaves order and rounding open; this is the rule measured on hardware (bit-exact on SM90,
// subnormal results included; for other architectures it is taken from published measurements).
#pragma once

#include "base/types.h"

namespace fovea::model {

// Of an operand that is zero: neither it nor a product with it has a say in the alignment.
inline constexpr i32 kZeroExponent = -1000;

// value = significand * 2^exponent, exactly, in double; the exponent is what alignment goes by: subnormals keep their
// format's smallest one.
struct Operand {
  double value = 0;
  i32 exponent = kZeroExponent;
  bool special = false;  // Inf or NaN
};
Operand operand_bf16(u32 bits);
Operand operand_f16(u32 bits);
Operand operand_tf32(u32 bits);
Operand operand_e4m3(u32 bits);

// The exponent that terms are aligned to is never below kFloorExponent: with F = 25, bits below 2^-158 are cut.
// Measured on SM90 with bf16 (k8 and k16: -132 and -134 both miss outputs); taken to hold elsewhere, where it is not
// measured.
inline constexpr i32 kFloorExponent = -133;

struct FusedRule {
  i32 fraction_bits = 25;  // kept of every term, below the largest exponent
  i32 result_bits = 23;    // fraction bits of an f32 result, truncated
  u32 steps = 1;           // the instruction's K is done in so many sums, rounded between
};

// Operands of K products, structure of arrays, so that the sums vectorise.
struct OperandRow {
  static constexpr u32 kMaxK = 32;
  alignas(32) double value[kMaxK];
  alignas(32) i32 exponent[kMaxK];
  bool special = false;

  void set(u32 k, const Operand& x) {
    value[k] = x.value;
    exponent[k] = x.exponent;
    special = special || x.special;
  }
};

// a . b + c with an f32 or an f16 result.
u32 fused_dot_f32(const OperandRow& a, const OperandRow& b, u32 k, u32 c_bits, const FusedRule& rule);
u32 fused_dot_f16(const OperandRow& a, const OperandRow& b, u32 k, u32 c_bits, const FusedRule& rule);

}  // namespace fovea::model
