// Every refusal of a forward call: right code, full texts, nothing written, and the same from fovea_supports().
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "unit/refusal_table.h"

namespace fovea::test {
namespace {

class ForwardRefusal : public testing::TestWithParam<RefusalRow> {};

TEST_P(ForwardRefusal, names_the_fault_and_writes_nothing) {
  const RefusalRow& row = GetParam();
  const ContextPtr context = make_context();
  ForwardCase c;
  row.bend(c);
  EXPECT_EQ(c.forward(context.get()), row.status);
  EXPECT_EQ(refusal_fault(c.error, row.status), "");
  EXPECT_NE(std::strstr(c.error.asked, row.in_asked), nullptr) << c.error.asked;
  EXPECT_TRUE(c.outputs_untouched());
}

TEST_P(ForwardRefusal, is_what_supports_says) {
  const RefusalRow& row = GetParam();
  const ContextPtr context = make_context();
  ForwardCase c;
  row.bend(c);
  EXPECT_EQ(c.supports(context.get()), row.status);
  EXPECT_EQ(refusal_fault(c.error, row.status), "");
}

INSTANTIATE_TEST_SUITE_P(All, ForwardRefusal, testing::ValuesIn(refusal_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ForwardRefusals, cover_every_status_of_a_forward_call) {
  std::set<int> seen;
  for (const RefusalRow& row : refusal_rows()) seen.insert(row.status);
  // Not the fault of a forward call's arguments, and tested beside what gives them.
  const std::set<int> elsewhere{FOVEA_OK,          FOVEA_BUFFER_TOO_SMALL, FOVEA_CONFIG,  FOVEA_MERGE_COUNT,
                                FOVEA_UNSUPPORTED, FOVEA_OUT_OF_MEMORY,    FOVEA_INTERNAL};
  for (int status = 0; status < 128; ++status) {
    const std::string name = fovea_status_name(static_cast<fovea_status>(status));
    if (name == "unknown_status" || elsewhere.contains(status)) continue;
    EXPECT_TRUE(seen.contains(status)) << name << " is provoked by no row";
  }
}

TEST(ForwardRefusals, null_context_and_null_args) {
  const ContextPtr context = make_context();
  ForwardCase c;
  EXPECT_EQ(c.forward(nullptr), FOVEA_NULL_POINTER);
  EXPECT_EQ(refusal_fault(c.error, FOVEA_NULL_POINTER), "");
  EXPECT_EQ(fovea_forward(context.get(), nullptr, &c.error), FOVEA_NULL_POINTER);
  EXPECT_EQ(fovea_supports(context.get(), nullptr, nullptr), FOVEA_NULL_POINTER);
  EXPECT_TRUE(c.outputs_untouched());
}

TEST(ForwardRefusals, texts_fit_their_fields) {
  // A cut message would end in the middle of a word; the longest texts of the table must fit.
  const ContextPtr context = make_context();
  for (const RefusalRow& row : refusal_rows()) {
    ForwardCase c;
    row.bend(c);
    c.supports(context.get());
    for (const char* text : {c.error.asked, c.error.allowed, c.error.why, c.error.hint}) {
      EXPECT_LT(std::strlen(text), sizeof(c.error.asked) - 1) << row.name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace fovea::test
