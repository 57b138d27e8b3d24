// Masks and biases whose rows begin and end anywhere, the last of them at a guard page, and masks of any bytes. On
// every backend.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

// A packed [1, 1, rows, keys] but for `gap` elements in front of each row, which stay poison. Its last element is the
// last that can be read.
Tensor gapped(fovea_dtype dtype, std::int64_t rows, std::int64_t keys, std::int64_t gap) {
  return Tensor::guarded(dtype, {1, 1, rows, gap + keys}).slice(3, gap, keys);
}

struct Call {
  fovea_dtype dtype, bias;
  std::int64_t queries, keys, head_dim;
};

class UnalignedViews : public testing::TestWithParam<Call> {};

// Blocks without keys, with some and with all of them.
Tensor blocks(const Tensor& mask) {
  return mask.fill([](auto, auto, auto i, auto j) {
    const auto block = (i / 32 + j / 64) % 3;
    return block == 0 ? (i + j) % 5 != 0 : block == 1;
  });
}

TEST_P(UnalignedViews, AgreeWithTheReference) {
  const auto [dtype, bias_dtype, queries, keys, head_dim] = GetParam();
  const Tensor q = Tensor(dtype, {1, queries, 2, head_dim}).normal(1);
  const Tensor k = Tensor(dtype, {1, keys, 1, head_dim}).normal(2);
  for (const std::int64_t gap : {0, 1, 2, 3, 4, 8, 13}) {
    SCOPED_TRACE(gap);
    const Tensor mask = blocks(gapped(FOVEA_BOOL, queries, keys, gap));
    const Tensor bias = gapped(bias_dtype, queries, keys, gap).normal(4);
    Attention(q, k, k).mask(mask).expect_reference();
    Attention(q, k, k).causal().bias(bias).expect_reference();
    Attention(q, k, k).mask(mask).bias(bias).softcap(gap == 3 ? 5.0F : 0.0F).expect_reference();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Calls, UnalignedViews,
    testing::Values(Call{FOVEA_BF16, FOVEA_BF16, 70, 259, 64}, Call{FOVEA_F16, FOVEA_F32, 65, 131, 64},
                    Call{FOVEA_BF16, FOVEA_F16, 9, 67, 128}, Call{FOVEA_BF16, FOVEA_F32, 66, 101, 128},
                    Call{FOVEA_F16, FOVEA_F16, 3, 18, 64}, Call{FOVEA_BF16, FOVEA_BF16, 66, 5, 40}),
    [](const testing::TestParamInfo<Call>& instance) {
      const Call& call = instance.param;
      return std::string(fovea_dtype_name(call.dtype)) + "_" + fovea_dtype_name(call.bias) + "_" +
             std::to_string(call.queries) + "x" + std::to_string(call.keys) + "_" + std::to_string(call.head_dim);
    });

// Batch entries, heads and queries that share rows, and a mask and bias that begin at different places.
TEST(UnalignedViewsBroadcast, AgreeWithTheReference) {
  constexpr std::int64_t kB = 2, kH = 4, kQ = 67, kK = 133;
  const Tensor q = Tensor(FOVEA_BF16, {kB, kQ, kH, 64}).normal(1), k = Tensor(FOVEA_BF16, {kB, kK, 2, 64}).normal(2);
  for (const Shape& shape : {Shape{kB, kH, kQ, kK}, Shape{1, 2, kQ, kK}, Shape{kB, 1, 1, kK}, Shape{1, 1, kQ, kK}}) {
    SCOPED_TRACE(testing::PrintToString(shape));
    const Tensor mask = blocks(Tensor(FOVEA_BOOL, shape));
    const Tensor wide = Tensor(FOVEA_BF16, {shape[0], shape[1], shape[2], kK + 2});
    const Tensor bias = wide.slice(3, 1, kK).normal(3);
    Attention(q, k, k).mask(mask).expect_reference();
    Attention(q, k, k).bias(bias).expect_reference();
    Attention(q, k, k).causal().mask(mask).bias(bias).expect_reference();
  }
}

// 264 keys: rows of a 16-bit bias begin at multiples of 16 bytes, those of a mask do not.
TEST(UnalignedViewsBesideAlignedOnes, AgreeWithTheReference) {
  constexpr std::int64_t kQ = 140, kK = 264;
  for (const std::int64_t head_dim : {64, 128}) {
    SCOPED_TRACE(head_dim);
    const Tensor q = Tensor(FOVEA_F16, {1, kQ, 2, head_dim}).normal(1);
    const Tensor k = Tensor(FOVEA_F16, {1, kK, 2, head_dim}).normal(2);
    const Tensor mask = blocks(Tensor::guarded(FOVEA_BOOL, {1, 1, kQ, kK}));
    const Tensor bias = Tensor::guarded(FOVEA_F16, {1, 2, kQ, kK}).normal(3);
    Attention(q, k, k).mask(mask).bias(bias).expect_reference();
    Attention(q, k, k).window(100, 20).mask(mask).bias(bias).expect_reference();
  }
}

// Any byte but 0 is a key that is seen: in blocks with such bytes alone, and beside keys that are not.
TEST(MaskBytes, AreZeroOrNot) {
  for (const std::int64_t keys : {384, 387}) {
    SCOPED_TRACE(keys);
    const Tensor q = Tensor(FOVEA_BF16, {1, 130, 2, 64}).normal(1), k = Tensor(FOVEA_BF16, {1, keys, 2, 64}).normal(2);
    const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, 130, keys});
    auto* const bytes = static_cast<unsigned char*>(mask.view().data);
    for (std::int64_t at = 0; at < 130 * keys; ++at) {
      const std::int64_t row = at / keys, key = at % keys;
      constexpr unsigned char kSeen[] = {1, 2, 128, 255, 3};
      const bool hidden = key / 128 == 1 ? (row + key) % 3 == 0 : key / 128 == 2;
      bytes[at] = hidden ? 0 : kSeen[(row + 3 * key) % 5];
    }
    Attention(q, k, k).mask(mask).expect_reference();
    Attention(q, k, k).causal().mask(mask).expect_reference();
  }
}

}  // namespace
}  // namespace fovea::bugs
