// The generated cases on the CPU backend, through the C ABI: the grid's small shapes, every feature alone in every
// dtype, a share of the pairs, and random cases. `fovea check` runs the rest.
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "cases/features.h"
#include "cases/generate.h"
#include "cases/materialize.h"
#include "cases/run.h"

namespace fovea::cases {
namespace {

class Backend : public testing::Test {
 protected:
  void SetUp() override {
    fovea_context* context = nullptr;
    ASSERT_EQ(fovea_context_create(nullptr, &context, nullptr), FOVEA_OK);
    context_.reset(context);
  }

  void run(const Case& c) {
    const CaseResult r = run_case(c, context_.get(), {.backend = FOVEA_BACKEND_CPU});
    ASSERT_TRUE(r.passed) << r.message << "\nrepeat: " << repeat_command(c);
  }

  fovea_context* context() const { return context_.get(); }

 private:
  std::unique_ptr<fovea_context, decltype(&fovea_context_destroy)> context_{nullptr, &fovea_context_destroy};
};

TEST_F(Backend, EachFeature) {
  const std::vector<Case> cases = feature_cases();
  for (std::size_t i = 0; i < num_single_features(); ++i) {
    ASSERT_NO_FATAL_FAILURE(run(cases[i])) << features()[i / 3].name;
  }
}

TEST_F(Backend, PairsOfFeatures) {
  const std::vector<Case> cases = feature_cases();
  for (std::size_t i = num_single_features(); i < cases.size(); i += 9) {
    ASSERT_NO_FATAL_FAILURE(run(cases[i]));
  }
}

TEST_F(Backend, SmallShapesOfTheGrid) {
  for (const Case& c : standard_grid()) {
    if (c.seqlen_q != 128) continue;
    ASSERT_NO_FATAL_FAILURE(run(c));
  }
}

// Under causal some rows see the key and some do not: the first become Inf or NaN, the others keep their numbers.
TEST_F(Backend, NonFiniteValuesReachExactlyTheRowsThatSeeThem) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_BF16, FOVEA_F16}) {
    for (const double value : {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
      Case c;
      c.dtype = c.out_dtype = dtype;
      c.batch = 2;
      c.seqlen_q = c.seqlen_kv = 90;
      c.num_heads_q = 2;
      c.causal = true;
      Instance instance(c);
      instance.set_v(1, 70, 0, 5, value);
      instance.seal();
      ASSERT_EQ(fovea_forward(context(), &instance.args(), nullptr), FOVEA_OK);
      const CaseResult r = judge(instance);
      ASSERT_TRUE(r.passed) << r.message;
    }
  }
}

// A bias of -inf hides a key as a mask does: its K and V may be NaN.
TEST_F(Backend, KeysHiddenByBiasMayHoldAnything) {
  Case c;
  c.seqlen_q = 20;
  c.seqlen_kv = 90;
  c.bias = Heads::one;
  c.bias_rows = false;
  Instance instance(c);
  for (std::int64_t d = 0; d < c.head_dim_v; ++d) {
    instance.set_k(0, 33, 0, d, std::numeric_limits<double>::quiet_NaN());
    instance.set_v(0, 33, 0, d, std::numeric_limits<double>::quiet_NaN());
  }
  instance.set_bias(0, 0, 0, 33, -std::numeric_limits<double>::infinity());
  instance.seal();
  ASSERT_EQ(fovea_forward(context(), &instance.args(), nullptr), FOVEA_OK);
  const CaseResult r = judge(instance);
  ASSERT_TRUE(r.passed) << r.message;
}

TEST_F(Backend, RandomCases) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    ASSERT_NO_FATAL_FAILURE(run(random_case(seed)));
  }
}

}  // namespace
}  // namespace fovea::cases
