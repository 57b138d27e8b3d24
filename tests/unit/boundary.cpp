// No exception crosses the C ABI.
#include "api/boundary.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "unit/forward_case.h"

namespace fovea::test {
namespace {

template <class Throw>
void expect_status(fovea_status expected, const char* why, Throw&& thrower) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(guarded(&error,
                    [&]() -> Check {
                      thrower();
                      return {};
                    }),
            expected);
  EXPECT_EQ(refusal_fault(error, expected), "");
  EXPECT_NE(std::string(error.why).find(why), std::string::npos) << error.why;
}

TEST(Boundary, exceptions_become_statuses) {
  expect_status(FOVEA_OUT_OF_MEMORY, "allocation failed", [] { throw std::bad_alloc(); });
  expect_status(FOVEA_INTERNAL, "broken law", [] { throw std::logic_error("broken law"); });
  expect_status(FOVEA_INTERNAL, "unknown type", [] { throw 3; });
  expect_status(FOVEA_OUT_OF_MEMORY, "no thread", [] {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "no thread");
  });
}

TEST(Boundary, success_leaves_the_error_alone) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  error.status = 77;
  EXPECT_EQ(guarded(&error, []() -> Check { return {}; }), FOVEA_OK);
  EXPECT_EQ(error.status, 77);
}

TEST(ErrorText, carries_all_parts_on_one_line) {
  const Error error{FOVEA_HEAD_RATIO, "heads 7 and 2", "a multiple", "grouping", "repeat heads"};
  EXPECT_EQ(to_string(error), "head_ratio: asked heads 7 and 2; allowed a multiple; grouping; repeat heads");
}

}  // namespace
}  // namespace fovea::test
