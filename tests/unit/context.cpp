// Contexts: arguments, environment, two at once, several threads in one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "core/config.h"
#include "unit/forward_case.h"

namespace fovea::test {
namespace {

// Sets a variable for one scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

fovea_status create(std::int32_t num_threads, std::int32_t reserved, fovea_error& error) {
  error = {};
  error.struct_size = sizeof(error);
  fovea_context_args args{sizeof(fovea_context_args), num_threads, reserved, 0, 0, 0};
  fovea_context* context = nullptr;
  const fovea_status status = fovea_context_create(&args, &context, &error);
  EXPECT_EQ(context != nullptr, status == FOVEA_OK);
  fovea_context_destroy(context);
  return status;
}

TEST(ContextArguments, out_of_range_values_are_refused) {
  fovea_error error;
  for (const std::int32_t threads : {-1, 1025, INT32_MIN}) {
    EXPECT_EQ(create(threads, 0, error), FOVEA_CONFIG);
    EXPECT_EQ(refusal_fault(error, FOVEA_CONFIG), "");
    EXPECT_NE(std::string(error.asked).find(std::to_string(threads)), std::string::npos);
  }
  EXPECT_EQ(create(1, 3, error), FOVEA_UNKNOWN_FLAG);
  EXPECT_EQ(refusal_fault(error, FOVEA_UNKNOWN_FLAG), "");
  EXPECT_EQ(create(1, 0, error), FOVEA_OK);
}

TEST(ContextArguments, null_and_struct_size) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(fovea_context_create(nullptr, nullptr, &error), FOVEA_NULL_POINTER);
  fovea_context_args args{3, 0, 0, 0, 0, 0};
  fovea_context* context = nullptr;
  EXPECT_EQ(fovea_context_create(&args, &context, &error), FOVEA_STRUCT_SIZE);
  EXPECT_EQ(fovea_context_create(nullptr, &context, &error), FOVEA_OK);
  EXPECT_GE(fovea_context_num_threads(context), 1);
  fovea_context_destroy(context);
  fovea_context_destroy(nullptr);
  EXPECT_EQ(fovea_context_num_threads(nullptr), 0);
  EXPECT_EQ(fovea_context_workspace_bytes(nullptr), 0U);
}

TEST(Config, malformed_variables_are_refused_by_name) {
  for (const char* value : {"0", "-1", "1025", "four", "2x", " 2", "99999999999999999999"}) {
    const Environment set("FOVEA_NUM_THREADS", value);
    const auto config = read_config();
    ASSERT_FALSE(config.ok()) << value;
    EXPECT_EQ(config.error().status, FOVEA_CONFIG);
    EXPECT_NE(config.error().asked.find(std::string("FOVEA_NUM_THREADS=") + value), std::string::npos);
    EXPECT_FALSE(config.error().hint.empty());
  }
  const Environment set("FOVEA_DISABLE_AMX", "yes");
  const auto config = read_config();
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().asked.find("FOVEA_DISABLE_AMX=yes"), std::string::npos);
  const Environment tile("FOVEA_TILE", "tile=64");
  EXPECT_EQ(read_config().error().status, FOVEA_CONFIG);
  fovea_error error;
  EXPECT_EQ(create(0, 0, error), FOVEA_CONFIG) << "a context ignored a malformed variable";
}

TEST(Config, values_are_read_and_arguments_win) {
  const Environment threads("FOVEA_NUM_THREADS", "3");
  const Environment amx("FOVEA_DISABLE_AMX", "1");
  const auto config = read_config();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().num_threads, 3);
  EXPECT_TRUE(config.value().disable_amx);
  EXPECT_EQ(fovea_context_num_threads(make_context(0).get()), 3);
  EXPECT_EQ(fovea_context_num_threads(make_context(1).get()), 1);
}

TEST(Config, empty_is_unset) {
  const Environment threads("FOVEA_NUM_THREADS", "");
  const auto config = read_config();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().num_threads, 0);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
}

TEST(Concurrency, calls_from_several_threads_do_not_disturb_each_other) {
  const ContextPtr shared = make_context(2);
  ForwardCase expected;
  ASSERT_EQ(expected.forward(shared.get()), FOVEA_OK);
  ASSERT_TRUE(std::none_of(expected.out.begin(), expected.out.end(), [](float x) { return std::isnan(x); }));
  std::vector<std::thread> threads;
  std::vector<ForwardCase> cases(4);
  for (ForwardCase& c : cases) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        c.fill_outputs();
        EXPECT_EQ(c.forward(shared.get()), FOVEA_OK);
        ForwardCase bad;
        bad.args.num_splits = -1;
        EXPECT_EQ(bad.forward(shared.get()), FOVEA_SPLITS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ForwardCase& c : cases) {
    expect_same(c.out, expected.out);
    expect_same(c.lse, expected.lse);
  }
}

TEST(PlanReuse, a_changed_call_gets_its_own_plan) {
  // More variants than the context keeps plans, twice over, so that plans are found, dropped and made again.
  const ContextPtr shared = make_context(1);
  for (int round = 0; round < 2; ++round) {
    for (int variant = 1; variant <= 20; ++variant) {
      const auto vary = [variant](ForwardCase& c) {
        c.args.flags = FOVEA_FLAG_SOFTMAX_SCALE;
        if (variant % 2 == 0) c.args.flags |= FOVEA_FLAG_CAUSAL;
        c.args.softmax_scale = 0.25F * static_cast<float>(variant);
      };
      ForwardCase reused;
      ForwardCase fresh;
      vary(reused);
      vary(fresh);
      ASSERT_EQ(reused.forward(shared.get()), FOVEA_OK);
      ASSERT_EQ(fresh.forward(make_context(1).get()), FOVEA_OK);
      expect_same(reused.out, fresh.out);
      expect_same(reused.lse, fresh.lse);
    }
  }
}

TEST(Concurrency, two_contexts_are_independent) {
  ContextPtr one = make_context(1);
  const ContextPtr two = make_context(2);
  ForwardCase a;
  ForwardCase b;
  ASSERT_EQ(a.forward(one.get()), FOVEA_OK);
  one.reset();
  ASSERT_EQ(b.forward(two.get()), FOVEA_OK);
  expect_same(b.out, a.out);
}

}  // namespace
}  // namespace fovea::test
