// struct_size: sizes of other versions, of arguments and of the caller's error struct.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "api/versioned.h"
#include "core/error.h"
#include "unit/forward_case.h"

namespace fovea::test {
namespace {

struct Newest {
  std::uint64_t struct_size;
  std::int64_t first;
  std::int64_t second;
};
constexpr std::array<std::uint64_t, 2> kSizes{16, sizeof(Newest)};

TEST(StructVersions, older_size_is_zero_extended) {
  const Newest args{16, 7, 9};
  const auto read = read_versioned("newest", &args, kSizes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().first, 7);
  EXPECT_EQ(read.value().second, 0);
}

TEST(StructVersions, size_between_versions_is_refused) {
  for (const std::uint64_t size : {0U, 8U, 15U, 17U, 23U}) {
    const Newest args{size, 0, 0};
    const auto read = read_versioned("newest", &args, kSizes);
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().status, FOVEA_STRUCT_SIZE);
    EXPECT_NE(read.error().allowed.find("16, 24"), std::string::npos) << read.error().allowed;
  }
}

class LargerStruct : public testing::Test {
 protected:
  fovea_status forward() { return fovea_forward(context_.get(), args(), &case_.error); }
  fovea_forward_args* args() { return reinterpret_cast<fovea_forward_args*>(storage_.data()); }
  void SetUp() override {
    case_.args.struct_size = sizeof(fovea_forward_args) + 64;
    std::memcpy(storage_.data(), &case_.args, sizeof(case_.args));
  }

  ContextPtr context_ = make_context();
  ForwardCase case_;
  std::vector<std::uint64_t> storage_ = std::vector<std::uint64_t>(sizeof(fovea_forward_args) / 8 + 16);
};

TEST_F(LargerStruct, zero_tail_is_accepted) { EXPECT_EQ(forward(), FOVEA_OK); }

TEST_F(LargerStruct, value_in_the_tail_is_refused) {
  reinterpret_cast<unsigned char*>(storage_.data())[sizeof(fovea_forward_args) + 63] = 1;
  EXPECT_EQ(forward(), FOVEA_STRUCT_SIZE);
  EXPECT_EQ(refusal_fault(case_.error, FOVEA_STRUCT_SIZE), "");
  EXPECT_TRUE(case_.outputs_untouched());
}

TEST_F(LargerStruct, byte_past_the_claim_is_never_read) {
  std::memset(reinterpret_cast<unsigned char*>(storage_.data()) + sizeof(fovea_forward_args) + 64, 1, 8);
  EXPECT_EQ(forward(), FOVEA_OK);
}

TEST(ErrorStruct, unusable_size_is_refused_before_the_call) {
  const ContextPtr context = make_context();
  ForwardCase c;
  c.error.struct_size = 0;
  EXPECT_EQ(c.forward(context.get()), FOVEA_STRUCT_SIZE);
  EXPECT_TRUE(c.outputs_untouched());
}

TEST(ErrorStruct, texts_are_cut_at_the_callers_size) {
  const Error error{FOVEA_SHAPE, std::string(500, 'a'), std::string(500, 'b'), std::string(500, 'c'), "do"};
  for (std::uint64_t size = 0; size <= sizeof(fovea_error); ++size) {
    fovea_error out;
    std::memset(&out, 0x5A, sizeof(out));
    out.struct_size = size;
    EXPECT_EQ(report(error, &out), FOVEA_SHAPE);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&out);
    for (std::uint64_t i = std::max<std::uint64_t>(size, sizeof(size)); i < sizeof(out); ++i) {
      ASSERT_EQ(bytes[i], 0x5A) << "size " << size << " byte " << i;
    }
    if (size > offsetof(fovea_error, asked)) {
      EXPECT_NE(memchr(out.asked, 0, sizeof(out.asked)), nullptr);
    }
  }
}

TEST(ErrorStruct, texts_are_terminated_and_whole_when_they_fit) {
  fovea_error out{};
  out.struct_size = sizeof(out);
  report({FOVEA_DTYPE, std::string(500, 'a'), "b", "c", "d"}, &out);
  EXPECT_EQ(std::string(out.asked), std::string(191, 'a'));
  EXPECT_STREQ(out.allowed, "b");
  EXPECT_STREQ(out.code, "dtype");
  EXPECT_EQ(report({FOVEA_DTYPE, "", "", "", ""}, nullptr), FOVEA_DTYPE);
}

}  // namespace
}  // namespace fovea::test
