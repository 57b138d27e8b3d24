// Random and special values. Matrix cases go through classes by CTA: moderate, wide exponents, cancelling, infinities
// and NaNs, subnormal operands, accumulators far from the products; the tiny ones aim at subnormal results.
#include "conformance/inputs.h"

#include <iterator>

namespace fovea::conformance {
namespace {

constexpr u32 kClasses = 6;

struct Random {
  u64 state;

  u64 next() {
    state += 0x9e3779b97f4a7c15ULL;
    u64 z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  u32 word() { return static_cast<u32>(next() >> 32U); }
  bool one_in(u32 n) { return word() % n == 0; }
  u32 sign() { return word() & 0x80000000U; }
  // Random mantissa, exponent from low to high; below -126 subnormal or zero.
  u32 real(int low, int high) {
    const int exponent = low + static_cast<int>(word() % static_cast<u32>(high - low + 1));
    const u32 mantissa = word() & 0x7fffffU;
    if (exponent < -149) return sign();
    if (exponent < -126) return sign() | ((mantissa | 0x800000U) >> static_cast<u32>(-126 - exponent));
    return sign() | static_cast<u32>(exponent + 127) << 23U | mantissa;
  }
};

constexpr u32 kSpecial32[] = {
    0x00000000U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc00000U, 0x7fffffffU, 0xffc12345U, 0x7f800001U, 0xffbfffffU,
    0x00000001U, 0x80000001U, 0x007fffffU, 0x807fffffU, 0x00800000U, 0x80800000U, 0x7f7fffffU, 0xff7fffffU, 0x3f800000U,
    0xbf800000U, 0x3f7fffffU, 0x477fefffU, 0x477ff000U, 0x33000000U, 0x33000001U, 0x38800000U, 0x387fffffU, 0x43e00000U,
    0x43e80000U, 0x42fe0000U, 0xc2fc0000U, 0xc3150000U, 0x43000000U, 0x3a800000U, 0x3b000000U, 0x7f7f8000U};
constexpr u32 kSpecial16[] = {0x0000U, 0x8000U, 0x7c00U, 0xfc00U, 0x7c01U, 0x7e00U, 0xfe55U, 0x7bffU, 0x0001U, 0x83ffU,
                              0x0400U, 0x3c00U, 0x7f80U, 0xff80U, 0x7fc0U, 0x7f81U, 0x007fU, 0x0080U, 0x7f7fU, 0x3f80U};

u32 any_f32(Random& random) {
  switch (random.word() % 4) {
    case 0:
      return kSpecial32[random.word() % std::size(kSpecial32)];
    case 1:
      return random.word();
    default:
      return random.real(-8, 8);
  }
}

u32 any_half(Random& random, bool bf16) {
  switch (random.word() % 4) {
    case 0:
      return kSpecial16[random.word() % std::size(kSpecial16)];
    case 1:
      return random.word() & 0xffffU;
    default: {
      const u32 value = random.real(-6, 6);
      return bf16 ? value >> 16U : f32_to_f16(f32_from_bits(value));
    }
  }
}

// A matrix element before it is narrowed.
u32 moderate_value(Random& random, u32 group, Operand operand) {
  switch (group) {
    case 0:
      return random.real(-3, 3);
    case 1:
      return random.real(-14, 15);
    case 2: {
      if (operand == Operand::c) return random.real(-22, 3);
      constexpr u32 kNear[] = {0x3f800000U, 0xbf800000U, 0x3f810000U, 0xbf810000U, 0x3f000000U, 0xbf7f0000U, 0U};
      return kNear[random.word() % std::size(kNear)];
    }
    case 3:
      if (random.one_in(150)) return random.sign() | 0x7f800000U;
      if (random.one_in(200)) return 0x7fc10000U | random.sign();
      return random.one_in(8) ? random.sign() : random.real(-3, 3);
    case 4:
      if (operand == Operand::c) return random.real(-140, -100);
      return random.one_in(2) ? random.real(-133, -110) : random.real(-24, 0);
    default:
      return operand == Operand::c ? random.real(-60, 60) : random.real(-20, 20);
  }
}

// Near 2^-60 and its neighbours in bf16: products of two such cancel down to the subnormal range.
u32 near_tiny(Random& random) {
  constexpr u32 kNear[] = {0x21800000U, 0xa1800000U, 0x21810000U, 0xa1810000U, 0xa17f0000U, 0x21000000U, 0U};
  return kNear[random.word() % std::size(kNear)];
}

// Products around 2^-150 .. 2^-120, with and without an accumulator; alone, in company and cancelling.
u32 tiny_value(Random& random, u32 group, Operand operand) {
  if (operand == Operand::c) {
    switch (group) {
      case 2:
      case 5:
      case 7:
      case 8:
        return random.real(-149, -127);
      case 3:
      case 9:
        return random.real(-126, -120);
      default:
        return random.sign();
    }
  }
  const bool a = operand == Operand::a;
  switch (group) {
    case 0:
      return random.real(-76, -62);
    case 1:
      return random.real(-66, -62);
    case 2:
      return random.real(-74, -63);
    case 3:
      return random.real(-64, -58);
    case 4:
    case 5:
      return a ? random.real(-133, -127) : random.real(-10, 6);
    case 8:
    case 9:
      return near_tiny(random);
    default:
      return a && !random.one_in(16) ? 0U : random.real(-78, -62);
  }
}

u32 narrow(Random& random, Input input, u32 value, u32 other) {
  switch (input) {
    case Input::mma_f16:
    case Input::mma_f16_acc16:
    case Input::tiny_f16:
      return f32_to_f16(f32_from_bits(value)) | static_cast<u32>(f32_to_f16(f32_from_bits(other))) << 16U;
    case Input::mma_tf32:
      return value;
    case Input::mma_e4m3: {
      u32 codes = random.word();
      for (u32 byte = 0; byte < 32; byte += 8) {
        if ((codes >> byte & 0x7fU) == 0x7fU && !random.one_in(40)) codes ^= 0x10U << byte;
      }
      return codes;
    }
    default:
      return value >> 16U | (other & 0xffff0000U);
  }
}

bool tiny(Input input) { return input == Input::tiny_bf16 || input == Input::tiny_f16; }

u32 matrix_word(Random& random, Input input, u32 group, Operand operand) {
  const auto value = tiny(input) ? tiny_value : moderate_value;
  const u32 first = value(random, group, operand);
  if (operand == Operand::c) return first;
  return narrow(random, input, first, value(random, group, operand));
}

u32 make_word(Random& random, const Case& test, u32 cta, u32 word) {
  switch (test.input) {
    case Input::f32:
      return any_f32(random);
    case Input::bits:
      return random.word();
    case Input::f16x2:
      return any_half(random, false) | any_half(random, false) << 16U;
    case Input::bf16x2:
      return any_half(random, true) | any_half(random, true) << 16U;
    default: {
      const u32 group = cta % (tiny(test.input) ? kTinyClasses : kClasses);
      return matrix_word(random, test.input, group, operand_of(test, word));
    }
  }
}

}  // namespace

Operand operand_of(const Case& test, u32 word) {
  if (test.in_words > kWgmmaExtra) {
    const u32 registers = test.in_words - 1024;
    if (word >= registers) return (word - registers) % 8 < 4 ? Operand::c : Operand::a;
    return word < 2048 ? Operand::a : Operand::b;
  }
  const u32 per_lane = test.in_words / 32;
  const u32 place = word % per_lane;
  if (test.input == Input::mma_f16_acc16) return place < 4 ? Operand::a : Operand::b;  // C is f16 as well
  const u32 operands = per_lane - 4;
  if (place >= operands) return Operand::c;
  return place < operands * 2 / 3 ? Operand::a : Operand::b;
}

std::vector<u32> make_inputs(const Case& test, u32 ctas) {
  std::vector<u32> words;
  words.reserve(static_cast<std::size_t>(ctas) * test.in_words);
  u64 name = 0xcbf29ce484222325ULL;
  for (const char c : test.name) name = (name ^ static_cast<u8>(c)) * 0x100000001b3ULL;
  for (u32 cta = 0; cta < ctas; ++cta) {
    Random random{name + cta * 0x632be59bd9b4e019ULL};
    for (u32 i = 0; i < test.in_words; ++i) words.push_back(make_word(random, test, cta, i));
  }
  return words;
}

std::uint64_t digest(const std::vector<u32>& words) {
  u64 hash = 0xcbf29ce484222325ULL;
  for (const u32 word : words) hash = (hash ^ word) * 0x100000001b3ULL;
  return hash;
}

}  // namespace fovea::conformance
