// Byte ranges and self-overlap of single views, against a brute-force walk over all elements.
#include "api/tensor_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace fovea::test {
namespace {

fovea_tensor strided(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                     fovea_dtype dtype = FOVEA_F32) {
  fovea_tensor t{};
  t.data = reinterpret_cast<void*>(std::uintptr_t{1} << 30U);
  t.dtype = dtype;
  t.rank = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), t.shape);
  std::copy(strides.begin(), strides.end(), t.strides);
  return t;
}

// Offsets of all elements, in elements.
std::vector<std::int64_t> offsets(const fovea_tensor& t) {
  std::vector<std::int64_t> all{0};
  for (std::int32_t d = 0; d < t.rank; ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : all) {
      for (std::int64_t i = 0; i < t.shape[d]; ++i) next.push_back(at + i * t.strides[d]);
    }
    all = next;
  }
  return all;
}

fovea_tensor arbitrary_view() {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 5);
  const auto shape = *rc::gen::container<std::vector<std::int64_t>>(rank, rc::gen::inRange<std::int64_t>(1, 5));
  const auto strides = *rc::gen::container<std::vector<std::int64_t>>(rank, rc::gen::inRange<std::int64_t>(-30, 31));
  return strided(shape, strides);
}

RC_GTEST_PROP(TensorCheck, byte_range_is_the_span_of_all_elements, ()) {
  const fovea_tensor t = arbitrary_view();
  const auto all = offsets(t);
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  const auto range = byte_range(t);
  RC_ASSERT(range.has_value());
  const auto base = reinterpret_cast<std::uintptr_t>(t.data);
  RC_ASSERT(range->begin == base + static_cast<std::uintptr_t>(*low * 4));
  RC_ASSERT(range->end == base + static_cast<std::uintptr_t>(*high * 4 + 4));
}

RC_GTEST_PROP(TensorCheck, a_view_that_meets_itself_is_always_seen, ()) {
  const fovea_tensor t = arbitrary_view();
  auto all = offsets(t);
  std::sort(all.begin(), all.end());
  const bool meets = std::adjacent_find(all.begin(), all.end()) != all.end();
  RC_CLASSIFY(meets, "meets itself");
  if (meets) RC_ASSERT(may_overlap_itself(t));
}

RC_GTEST_PROP(TensorCheck, permuted_padded_slices_never_count_as_overlapping, ()) {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<std::int64_t> shape(rank), strides(rank);
  std::int64_t step = *rc::gen::inRange<std::int64_t>(1, 4);
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] = *rc::gen::inRange<std::int64_t>(1, 6);
    strides[d] = *rc::gen::arbitrary<bool>() ? step : -step;
    step *= shape[d] + *rc::gen::inRange<std::int64_t>(0, 3);
  }
  RC_ASSERT(!may_overlap_itself(strided(shape, strides)));
  std::swap(shape.front(), shape.back());
  std::swap(strides.front(), strides.back());
  RC_ASSERT(!may_overlap_itself(strided(shape, strides)));
}

TEST(TensorCheck, ranges_at_the_edge_of_64_bits) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(byte_range(strided({2}, {std::int64_t{1} << 59})).has_value());
  EXPECT_FALSE(byte_range(strided({2}, {kMax / 4 + 1})).has_value());
  EXPECT_FALSE(byte_range(strided({3}, {kMax})).has_value());
  EXPECT_FALSE(byte_range(strided({2}, {-(std::int64_t{1} << 40)})).has_value()) << "below address 0";
  EXPECT_FALSE(byte_range(strided({2, 2}, {kMax, 1}, FOVEA_BOOL)).has_value());
  EXPECT_TRUE(byte_range(strided({1}, {kMax})).has_value());
  const auto none = byte_range(strided({0, 5}, {kMax, kMax}));
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->begin, none->end);
}

}  // namespace
}  // namespace fovea::test
