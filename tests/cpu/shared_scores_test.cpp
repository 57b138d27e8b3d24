// Heads, and batch entries, that read the same rows of mask and bias run as members of one task: enough of them here
// that the plan groups them, each with key lengths, scores and Inf and NaN of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "cpu/bug_support.h"

namespace fovea::cpu_test {
namespace {

using bugs::Attention;
using bugs::Context;
using bugs::Tensor;

constexpr std::int64_t kBatch = 4, kHeads = 8, kRows = 70, kKeys = 300, kDim = 40;
constexpr std::int64_t kHidden = 7;  // a key that every bias of these tests hides; its K and V hold NaN
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor keys(fovea_dtype dtype, std::uint64_t seed, std::int64_t heads) {
  const Tensor t = Tensor(dtype, {kBatch, kKeys, heads, kDim}).normal(seed);
  t.slice(1, kHidden, 1).constant(std::numeric_limits<double>::quiet_NaN());
  t.slice(1, 200, 100).slice(0, 1, 1).normal(seed + 1, 20.0);  // the running maximum of this entry rises late
  return t;
}

Tensor bias(fovea_dtype dtype, std::int64_t heads) {
  const Tensor t = Tensor(dtype, {1, heads, kRows, kKeys}).normal(5);
  t.slice(3, kHidden, 1).constant(-kInfinity);
  return t;
}

Attention call(fovea_dtype dtype, std::int64_t kv_heads) {
  Attention attention(Tensor(dtype, {kBatch, kRows, kHeads, kDim}).normal(1), keys(dtype, 2, kv_heads),
                      keys(dtype, 3, kv_heads));
  attention.used_kv({300, 299, 130, 31});
  return attention;
}

// How many heads and batch entries the plan puts into one task.
std::string grouping(const Attention& attention, const Context& context) {
  std::string text(std::size_t{1} << 16U, '\0');
  std::size_t size = text.size();
  EXPECT_EQ(fovea_explain(context.get(), &attention.args(), FOVEA_TEXT, text.data(), &size, nullptr), FOVEA_OK);
  const std::size_t begin = text.find("tile_heads=");
  return begin == std::string::npos ? text : text.substr(begin, text.find(" num_splits", begin) - begin);
}

TEST(SharedScores, heads_share_a_bias) {
  const Context context(1);
  for (const fovea_dtype dtype : bugs::kDtypes) {
    for (const fovea_dtype bias_dtype : bugs::kDtypes) {
      Attention attention = call(dtype, kHeads);
      attention.bias(bias(bias_dtype, 1)).on(context);
      EXPECT_EQ(grouping(attention, context), "tile_heads=4 tile_batches=1");
      attention.expect_reference();
    }
  }
}

TEST(SharedScores, batch_entries_share_a_bias_of_each_head) {
  const Context context(1);
  for (const fovea_dtype dtype : bugs::kDtypes) {
    Attention attention = call(dtype, kHeads);
    attention.bias(bias(FOVEA_F32, kHeads)).on(context);
    EXPECT_EQ(grouping(attention, context), "tile_heads=1 tile_batches=4");
    attention.expect_reference();
  }
}

TEST(SharedScores, heads_share_a_mask_under_causal) {
  const Context context(1);
  const Tensor mask = Tensor(FOVEA_BOOL, {kBatch, 1, kRows, kKeys}).fill([](auto b, auto, auto i, auto j) {
    return j != kHidden && (i + 3 * j + b) % 4 != 0;
  });
  for (const fovea_dtype dtype : bugs::kDtypes) {
    Attention attention = call(dtype, kHeads);
    attention.mask(mask).causal().on(context);
    attention.expect_reference();
  }
}

TEST(SharedScores, query_and_key_groups) {
  const Context context(1);
  for (const fovea_dtype dtype : bugs::kDtypes) {
    Attention attention = call(dtype, 4);
    attention.bias(bias(FOVEA_BF16, 1)).used_q({70, 0, 35, 69}).on(context);
    attention.expect_reference();
  }
}

}  // namespace
}  // namespace fovea::cpu_test
