// The generators: exact size of the grid, determinism, validity, and that random cases reach every feature.
#include "cases/generate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "cases/features.h"

namespace fovea::cases {
namespace {

TEST(Grid, Has240DistinctShapes) {
  std::set<std::tuple<int, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>> shapes;
  for (const Case& c : standard_grid()) {
    EXPECT_EQ(validate(c), "");
    EXPECT_EQ(c.seqlen_q, c.seqlen_kv);
    EXPECT_TRUE(c.dtype == FOVEA_F16 || c.dtype == FOVEA_BF16);
    shapes.insert({c.dtype, c.causal, c.batch, c.seqlen_q, c.num_heads_q, c.num_heads_kv, c.head_dim_qk});
  }
  EXPECT_EQ(standard_grid().size(), 240U);
  EXPECT_EQ(shapes.size(), 240U);
}

TEST(Grid, HasMhaGqaAndMqa) {
  std::set<std::string> kinds;
  for (const Case& c : standard_grid()) {
    kinds.insert(c.num_heads_kv == c.num_heads_q ? "mha" : c.num_heads_kv == 1 ? "mqa" : "gqa");
  }
  EXPECT_EQ(kinds.size(), 3U);
}

TEST(Features, AreValidAndDistinct) {
  std::set<std::string> lines;
  const std::vector<Case> cases = feature_cases();
  for (const Case& c : cases) {
    ASSERT_EQ(validate(c), "") << to_string(c);
    lines.insert(to_string(c));
  }
  EXPECT_EQ(lines.size(), cases.size());
  EXPECT_GT(cases.size(), num_single_features() + 1000);
}

TEST(Features, EachChangesTheCase) {
  for (const Feature& f : features()) {
    Case before;
    before.out_dtype = FOVEA_F64;
    before.seqlen_q = before.seqlen_kv = 9;
    before.mask_density = 0.9F;
    Case after = before;
    f.apply(after);
    EXPECT_EQ(after == before, f.name == "plain") << f.name;
  }
}

TEST(Generators, AreDeterministic) {
  EXPECT_EQ(standard_grid(), standard_grid());
  EXPECT_EQ(feature_cases(), feature_cases());
  EXPECT_EQ(quick(), quick());
  for (std::uint64_t seed = 0; seed < 100; ++seed) EXPECT_EQ(random_case(seed), random_case(seed));
}

// The same on every machine: a line recorded once.
TEST(Generators, RandomCaseIsStable) {
  EXPECT_EQ(to_string(random_case(7)),
            "seed=7 dtype=f16 out=f16 b=4 sq=32 sk=43 hq=6 hkv=2 dqk=40 dv=1 q=varlen kv=varlen lengths=full "
            "page_size=256 page_order=forward causal=1 window_right=38 softcap=1.5 bias=kv bias_expanded=1 "
            "bias_dtype=bf16 bias_minus_inf=0.25 strides=stride_d2");
}

TEST(Generators, RandomCasesAreValidAndReachEveryKey) {
  std::set<std::string> keys;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Case c = random_case(seed);
    ASSERT_EQ(validate(c), "") << to_string(c);
    std::string line = to_string(c);
    for (std::size_t at = 0; at < line.size(); at = line.find(' ', at) + 1) {
      keys.insert(line.substr(at, line.find('=', at) - at));
      if (line.find(' ', at) == std::string::npos) break;
    }
  }
  EXPECT_EQ(keys.size(), 45U);
}

}  // namespace
}  // namespace fovea::cases
