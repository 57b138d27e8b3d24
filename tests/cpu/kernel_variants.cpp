// The same calls on each way through the cpu backend: bf16 with AMX and without, and every SIMD target that this
// machine can run, not only the best one. Which variant served a call is asked of the library, not assumed.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "cases/features.h"
#include "cases/generate.h"
#include "cases/materialize.h"
#include "cases/run.h"
#include "core/cpu_features.h"
#include "cpu/bug_support.h"

namespace fovea::cpu_test {
namespace {

using bugs::Attention;
using bugs::Context;
using bugs::Index;
using bugs::Tensor;
using cases::Case;

// While it lives, new contexts keep bf16 off the AMX tiles.
class AmxDisabled {
 public:
  AmxDisabled() { setenv("FOVEA_DISABLE_AMX", "1", 1); }
  ~AmxDisabled() { unsetenv("FOVEA_DISABLE_AMX"); }
  AmxDisabled(const AmxDisabled&) = delete;
  AmxDisabled& operator=(const AmxDisabled&) = delete;
};

// While it lives, Highway dispatches to `target` alone.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { choose(target); }
  ~OnlyTarget() { choose(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();  // the next dispatch chooses again
  }
};

// Every feature alone, and some random cases; all small.
std::vector<Case> small_cases() {
  std::vector<Case> cases = cases::feature_cases();
  cases.resize(cases::num_single_features());
  for (std::uint64_t seed = 1001; seed <= 1030; ++seed) cases.push_back(cases::random_case(seed));
  return cases;
}

void expect_passed(const std::vector<Case>& cases, const Context& context) {
  ASSERT_FALSE(cases.empty());
  for (const Case& c : cases) {
    const cases::CaseResult r = cases::run_case(c, context.get(), {.backend = FOVEA_BACKEND_CPU});
    ASSERT_TRUE(r.passed) << r.message << "\nrepeat: " << cases::repeat_command(c);
  }
}

std::vector<Case> bf16_cases() {
  std::vector<Case> cases = small_cases();
  std::erase_if(cases, [](const Case& c) { return c.dtype != FOVEA_BF16; });
  return cases;
}

// The line "choice   KERNEL" of the call's explanation.
std::string kernel_of(const Case& c, const Context& context) {
  cases::Instance instance(c);
  std::string text(std::size_t{1} << 16U, '\0');
  std::size_t size = text.size();
  EXPECT_EQ(fovea_explain(context.get(), &instance.args(), FOVEA_TEXT, text.data(), &size, nullptr), FOVEA_OK);
  const std::size_t begin = text.find("choice");
  if (begin == std::string::npos) return text;
  const std::size_t name = text.find_first_not_of(' ', begin + 6);
  return text.substr(name, text.find('\n', name) - name);
}

TEST(KernelVariants, Bf16WithAmx) {
  const CpuFeatures features = detect_cpu_features();
  if (!features.amx_bf16) GTEST_SKIP() << "no AMX here: " << features.amx_reason;
  const Context context;
  for (const Case& c : bf16_cases()) ASSERT_EQ(kernel_of(c, context), "cpu_fwd_amx_bf16") << cases::to_string(c);
  expect_passed(bf16_cases(), context);
}

TEST(KernelVariants, Bf16WithoutAmx) {
  const AmxDisabled no_amx;
  const Context context;
  for (const Case& c : bf16_cases()) ASSERT_EQ(kernel_of(c, context), "cpu_fwd_f32") << cases::to_string(c);
  expect_passed(bf16_cases(), context);
}

// AMX belongs to one target only, so it is off here.
TEST(KernelVariants, EveryTargetOfThisMachine) {
  const AmxDisabled no_amx;
  const Context context;
  const std::string compiled = " " + detect_cpu_features().simd_targets + " ";
  std::size_t count = 0;
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    const std::string name = hwy::TargetName(target);
    if (compiled.find(" " + name + " ") == std::string::npos) continue;
    SCOPED_TRACE(name);
    const OnlyTarget only(target);
    ASSERT_EQ(detect_cpu_features().simd_target, name);
    ASSERT_NO_FATAL_FAILURE(expect_passed(small_cases(), context));
    ++count;
  }
  EXPECT_EQ(count, static_cast<std::size_t>(std::count(compiled.begin(), compiled.end(), ' ')) - 1);
}

constexpr double kSubnormal = 0x1.2p-130;  // of bf16: below 2^-126

TEST(KernelVariants, Bf16SubnormalsAmongOrdinaryValues) {
  const auto sprinkled = [](std::uint64_t seed) {
    const Tensor t = Tensor(FOVEA_BF16, {1, 70, 2, 64}).normal(seed);
    t.visit([&](const Index& i) {
      if ((i[1] * 7 + i[3]) % 5 == 0) t.set(i[3] % 2 == 0 ? kSubnormal : -kSubnormal, i);
    });
    return t;
  };
  Attention(sprinkled(1), sprinkled(2), sprinkled(3)).causal().expect_reference();
}

TEST(KernelVariants, NothingButBf16SubnormalsIsRightOrZero) {
  const auto plain = [](std::uint64_t seed) { return Tensor(FOVEA_BF16, {1, 70, 2, 64}).normal(seed); };
  const Tensor v = Tensor(FOVEA_BF16, {1, 70, 2, 64}).constant(kSubnormal);
  Attention call(plain(1), plain(2), v);
  call.run();
  call.out().visit([&](const Index& i) {
    const double x = call.out().at(i);
    EXPECT_TRUE(x == 0 || std::abs(x - kSubnormal) <= 0x1p-133) << x;  // half of the last place is 2^-134
  });
}

}  // namespace
}  // namespace fovea::cpu_test
