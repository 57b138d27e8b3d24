// One line is the whole case: what to_string writes, parse reads back, and nothing else is accepted.
#include <gtest/gtest.h>

#include "cases/case.h"
#include "cases/generate.h"

namespace fovea::cases {
namespace {

TEST(CaseText, RoundTripsEveryFeature) {
  for (const Case& c : feature_cases()) {
    const ParsedCase parsed = parse(to_string(c));
    ASSERT_TRUE(parsed.value) << parsed.error << " in " << to_string(c);
    ASSERT_EQ(*parsed.value, c) << to_string(c);
  }
}

TEST(CaseText, RoundTripsRandomCases) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = random_case(seed);
    const ParsedCase parsed = parse(to_string(c));
    ASSERT_TRUE(parsed.value) << parsed.error << " in " << to_string(c);
    ASSERT_EQ(*parsed.value, c) << to_string(c);
  }
}

TEST(CaseText, FloatsKeepEveryBit) {
  Case c;
  c.scale = 0.1F + 0x1p-27F;
  c.softcap = 1.0F / 3.0F;
  c.mask_density = 1e-7F;
  const ParsedCase parsed = parse(to_string(c));
  ASSERT_TRUE(parsed.value) << parsed.error;
  EXPECT_EQ(*parsed.value, c);
}

TEST(CaseText, IsOneLineAndLeavesDefaultsOut) {
  EXPECT_EQ(to_string(Case{}), "seed=1 dtype=f32 out=f32 b=1 sq=1 sk=1 hq=1 hkv=1 dqk=64 dv=64");
}

TEST(CaseText, OrderAndSpacesDoNotMatter) {
  const ParsedCase parsed = parse("  causal=1\t sq=5   seed=9 ");
  ASSERT_TRUE(parsed.value) << parsed.error;
  EXPECT_TRUE(parsed.value->causal);
  EXPECT_EQ(parsed.value->seqlen_q, 5);
  EXPECT_EQ(parsed.value->seed, 9U);
}

struct Refused {
  const char* line;
  const char* key;
};

class CaseRefused : public testing::TestWithParam<Refused> {};

TEST_P(CaseRefused, NamesTheKey) {
  const ParsedCase parsed = parse(GetParam().line);
  EXPECT_FALSE(parsed.value) << GetParam().line;
  EXPECT_EQ(parsed.error.rfind(GetParam().key, 0), 0U) << parsed.error;
}

INSTANTIATE_TEST_SUITE_P(
    All, CaseRefused,
    testing::Values(Refused{"sq", "expected key=value"}, Refused{"nonsense=1", "nonsense"}, Refused{"sq=", "sq"},
                    Refused{"sq=4x", "sq"}, Refused{"sq=1.5", "sq"}, Refused{"sq=-1", "sq"}, Refused{"b=0", "b"},
                    Refused{"sq=1 sq=1", "sq"}, Refused{"dtype=f64", "dtype"}, Refused{"causal=yes", "causal"},
                    Refused{"seed=-1", "seed"}, Refused{"hq=3 hkv=2", "hq"}, Refused{"hkv=0", "hkv"},
                    Refused{"dqk=0", "dqk"}, Refused{"dv=99999", "dv"}, Refused{"q=paged", "q"},
                    Refused{"page_size=0", "page_size"}, Refused{"window_left=-1", "window_left"},
                    Refused{"window_right=-1", "window_right"}, Refused{"q_offset=9999999999999", "q_offset"},
                    Refused{"kv_offset=9999999999999", "kv_offset"}, Refused{"scale=inf", "scale"},
                    Refused{"scale=nan", "scale"}, Refused{"softcap=-1", "softcap"},
                    Refused{"mask_density=2", "mask_density"}, Refused{"bias_minus_inf=-0.1", "bias_minus_inf"},
                    Refused{"splits=257", "splits"}, Refused{"sq=99999999999999999999", "sq"},
                    Refused{"rows_before=-1", "rows_before"}, Refused{"b=1000 sk=16000000 hkv=64 hq=64", "b"}));

}  // namespace
}  // namespace fovea::cases
