// Rows past seqused_q: mask and bias need not reach them (contract section 1), so nothing may read there. The guard
// page behind the last row faults if something does.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

TEST(UnusedRows, mask_and_bias_end_with_the_longest_used_sequence) {
  for (const fovea_dtype dtype : kDtypes) {
    SCOPED_TRACE(fovea_dtype_name(dtype));
    const Tensor q = Tensor(dtype, {90, 4, 64}).normal(1);
    const Tensor k = Tensor(dtype, {2, 130, 2, 64}).normal(2), v = Tensor(dtype, {2, 130, 2, 64}).normal(3);
    const auto visible = [](auto, auto, auto i, auto j) { return (i + j) % 3 != 0; };
    const Tensor mask = Tensor::guarded(FOVEA_BOOL, {2, 4, 7, 130}).fill(visible);
    const Tensor bias = Tensor::guarded(dtype, {2, 2, 7, 130}).normal(4);
    // Segments of 60 and 30 rows, of which 7 and 5 are queries.
    Attention(q, k, v).cu_q({0, 60, 90}).used_q({7, 5}).mask(mask).expect_reference();
    Attention(q, k, v).cu_q({0, 60, 90}).used_q({7, 5}).bias(bias).expect_reference();
    Attention(q, k, v).cu_q({0, 60, 90}).used_q({7, 5}).mask(mask).bias(bias).splits(2).expect_reference();
  }
}

}  // namespace
}  // namespace fovea::bugs
