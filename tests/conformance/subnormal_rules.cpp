// Which rule makes the hardware's subnormal mma results? Tries combinations of addend width, exponent floor, treatment
// of zeros and subnormals, and rounding on the recorded tiny cases, prints the best with their mismatches per class of
// input, and examples that the best one misses. subnormal_rules wide.bin
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "conformance/inputs.h"
#include "conformance/vectors.h"

namespace fovea::conformance {
namespace {

constexpr u32 kScreenedCtas = 100;
constexpr std::size_t kShownRules = 12;

// One output: its K products' operands (bf16 bits), the accumulator, what the hardware gave.
struct Sample {
  u32 group = 0;
  std::vector<u16> a, b;
  u32 c = 0, d = 0;
};

enum class Final { truncate, nearest_even, floor, flush };

struct Rule {
  int fraction_bits = 25;
  int floor_exponent = -1000;        // the reference exponent is at least this
  bool zero_c_counts = true;         // a zero accumulator takes part in the maximum, with exponent -126
  bool zero_products_count = false;  // so do products with a zero factor
  bool normalise_operands = false;   // subnormal operands get their true exponent
  bool normalise_c = false;
  bool floor_addends = false;  // two's complement truncation instead of towards zero
  Final final = Final::truncate;
};

struct Part {
  i64 significand;  // signed
  int exponent;     // of the leading bit's place
  int fraction;     // bits below that place
};

Part split(u32 bits, int mantissa_bits, int bias, bool normalise) {
  const int biased = static_cast<int>(bits >> mantissa_bits & 0xffU);
  i64 significand = static_cast<i64>(bits & ((1U << mantissa_bits) - 1));
  int exponent = biased == 0 ? 1 - bias : biased - bias;
  if (biased != 0) significand |= i64{1} << mantissa_bits;
  if (normalise && significand != 0) {
    for (; significand >> mantissa_bits == 0; significand <<= 1) --exponent;
  }
  return {significand, exponent, mantissa_bits};
}

i64 shift(i64 value, int left, bool floor) {
  if (left >= 0) return left > 40 ? 0 : value * (i64{1} << left);
  if (left < -62) return floor && value < 0 ? -1 : 0;
  if (floor || value >= 0) return value >> -left;
  return -(-value >> -left);
}

u32 finish(i64 sum, int grid, Final rule) {
  const u32 sign = sum < 0 ? 0x80000000U : 0;
  const u64 magnitude = static_cast<u64>(sum < 0 ? -sum : sum);
  if (magnitude == 0) return 0;
  const int top = 63 - __builtin_clzll(magnitude);
  const int exponent = top + grid;
  const bool subnormal = exponent < -126;
  const int unit = subnormal ? -149 : exponent - 23;
  const int drop = unit - grid;
  u64 kept = drop <= 0 ? magnitude << -drop : drop > 62 ? 0 : magnitude >> drop;
  if (subnormal && drop > 0 && drop <= 62) {
    const u64 rest = magnitude - (kept << drop);
    const u64 half = u64{1} << (drop - 1);
    if (rule == Final::nearest_even && (rest > half || (rest == half && (kept & 1U) != 0))) ++kept;
    if (rule == Final::floor && sum < 0 && rest != 0) ++kept;
    if (rule == Final::flush) kept = 0;
  }
  if (subnormal) return sign | static_cast<u32>(kept);
  return sign | ((static_cast<u32>(exponent + 126) << 23U) + static_cast<u32>(kept));
}

u32 apply(const Rule& rule, const Sample& sample) {
  Part parts[17];
  std::size_t count = 0;
  int reference = rule.floor_exponent;
  for (std::size_t k = 0; k < sample.a.size(); ++k) {
    const Part a = split(sample.a[k] & 0x7fffU, 7, 127, rule.normalise_operands);
    const Part b = split(sample.b[k] & 0x7fffU, 7, 127, rule.normalise_operands);
    const i64 product = a.significand * b.significand;
    const bool negative = ((sample.a[k] ^ sample.b[k]) & 0x8000) != 0;
    parts[count] = {negative ? -product : product, a.exponent + b.exponent, 14};
    if (product != 0 || rule.zero_products_count) reference = std::max(reference, parts[count].exponent);
    ++count;
  }
  Part c = split(sample.c & 0x7fffffffU, 23, 127, rule.normalise_c);
  if (c.significand != 0 || rule.zero_c_counts) reference = std::max(reference, c.exponent);
  if ((sample.c & 0x80000000U) != 0) c.significand = -c.significand;
  parts[count++] = c;
  if (reference == -1000) return 0;
  i64 sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int left = parts[i].exponent - parts[i].fraction - (reference - rule.fraction_bits);
    sum += shift(parts[i].significand, left, rule.floor_addends);
  }
  return finish(sum, reference - rule.fraction_bits, rule.final);
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16" and "m16n8k8": 16-bit A row-major, B column-major.
std::vector<Sample> samples(const Case& test, const Record& record) {
  const std::vector<u32> in = make_inputs(test, record.ctas);
  if (digest(in) != record.input_digest) throw std::runtime_error("inputs have changed since the recording");
  const u32 per_lane = test.in_words / 32;
  const u32 k_size = per_lane == 10 ? 16 : 8;
  const auto half = [](u32 word, u32 k) { return static_cast<u16>((k & 1U) != 0 ? word >> 16U : word); };
  std::vector<Sample> all;
  for (u32 cta = 0; cta < record.ctas; ++cta) {
    const u32* base = in.data() + std::size_t{cta} * test.in_words;
    for (u32 m = 0; m < 16; ++m) {
      for (u32 n = 0; n < 8; ++n) {
        Sample sample{cta % kTinyClasses, {}, {}, 0, 0};
        for (u32 k = 0; k < k_size; ++k) {
          const u32 quad = k % 8 / 2;
          sample.a.push_back(half(base[(m % 8 * 4 + quad) * per_lane + m / 8 + 2 * (k / 8)], k));
          sample.b.push_back(half(base[(n * 4 + quad) * per_lane + k_size / 4 + k / 8], k));
        }
        const u32 lane = m % 8 * 4 + n / 2;
        const u32 reg = 2 * (m / 8) + n % 2;
        sample.c = base[lane * per_lane + per_lane - 4 + reg];
        sample.d = record.out[(std::size_t{cta} * 32 + lane) * 4 + reg];
        all.push_back(std::move(sample));
      }
    }
  }
  return all;
}

// The sign of a zero is not what is asked here.
bool differs(u32 got, u32 wanted) { return got != wanted && ((got | wanted) & 0x7fffffffU) != 0; }

std::vector<Rule> candidates() {
  std::vector<Rule> rules;
  for (const int bits : {23, 24, 25, 26, 27, 28}) {
    for (const int floor : {-1000, -126, -127, -133, -140, -149}) {
      for (u32 flags = 0; flags < 32; ++flags) {
        for (const Final final : {Final::truncate, Final::nearest_even, Final::floor, Final::flush}) {
          rules.push_back({bits, floor, (flags & 1U) != 0, (flags & 2U) != 0, (flags & 4U) != 0, (flags & 8U) != 0,
                           (flags & 16U) != 0, final});
        }
      }
    }
  }
  return rules;
}

void print(const Rule& rule, const std::vector<Sample>& all) {
  u32 wrong[kTinyClasses] = {};
  u32 total = 0;
  for (const Sample& sample : all) {
    if (!differs(apply(rule, sample), sample.d)) continue;
    ++wrong[sample.group];
    ++total;
  }
  constexpr const char* kFinals[] = {"truncate", "nearest", "floor", "flush"};
  std::printf("%8u wrong | F %d floor %d zero_c %d zero_products %d normalise a,b %d c %d floor_addends %d final %s |",
              total, rule.fraction_bits, rule.floor_exponent, rule.zero_c_counts, rule.zero_products_count,
              rule.normalise_operands, rule.normalise_c, rule.floor_addends, kFinals[static_cast<int>(rule.final)]);
  for (const u32 count : wrong) std::printf(" %u", count);
  std::printf("\n");
}

void show_misses(const Rule& rule, const std::vector<Sample>& all) {
  int shown = 0;
  for (const Sample& sample : all) {
    const u32 got = apply(rule, sample);
    if (!differs(got, sample.d)) continue;
    std::printf("  class %u c 0x%08x rule 0x%08x hardware 0x%08x a*b", sample.group, sample.c, got, sample.d);
    for (std::size_t k = 0; k < sample.a.size(); ++k) std::printf(" %04x*%04x", sample.a[k], sample.b[k]);
    std::printf("\n");
    if (++shown == 8) return;
  }
}

void study(const Case& test, const Record& record) {
  const std::vector<Sample> all = samples(test, record);
  const std::size_t screened = std::min<std::size_t>(all.size(), std::size_t{kScreenedCtas} * 128);
  std::vector<std::pair<u32, Rule>> ranked;
  for (const Rule& rule : candidates()) {
    u32 wrong = 0;
    for (std::size_t i = 0; i < screened; ++i) wrong += differs(apply(rule, all[i]), all[i].d) ? 1 : 0;
    ranked.emplace_back(wrong, rule);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::printf("%s: %zu outputs, %zu rules\n", record.name.c_str(), all.size(), ranked.size());
  std::printf("the rule of normal results: ");
  print(Rule{}, all);
  for (std::size_t i = 0; i < std::min(kShownRules, ranked.size()); ++i) print(ranked[i].second, all);
  show_misses(ranked.front().second, all);
}

}  // namespace
}  // namespace fovea::conformance

int main(int count, char** arguments) {
  using namespace fovea::conformance;
  if (count < 2) {
    std::printf("usage: subnormal_rules wide.bin\n");
    return 2;
  }
  try {
    for (const Record& record : read_records(arguments[1])) {
      for (const Case& test : kCases) {
        if (test.name == record.name && test.input == Input::tiny_bf16 && test.threads == 32) study(test, record);
      }
    }
  } catch (const std::exception& error) {
    std::printf("subnormal_rules: %s\n", error.what());
    return 1;
  }
  return 0;
}
