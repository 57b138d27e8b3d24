// Calls in which any extents are 0. They have a plan on every backend, run, and write what rows there are.
#include <gtest/gtest.h>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

TEST(EmptyCalls, AnyExtentsMayBeZero) {
  for (const std::int64_t queries : {3, 70}) {  // on SM90, fwd_mma and fwd_wgmma
    for (unsigned empty = 0; empty < 32; ++empty) {
      const auto extent = [empty](unsigned bit, std::int64_t n) { return ((empty >> bit) & 1U) != 0 ? 0 : n; };
      const std::int64_t b = extent(0, 2), sq = extent(1, queries), sk = extent(2, 9), hq = extent(3, 4);
      const std::int64_t hkv = extent(4, 2);
      SCOPED_TRACE(testing::Message() << "b=" << b << " sq=" << sq << " sk=" << sk << " hq=" << hq << " hkv=" << hkv);
      const Tensor kv = Tensor(FOVEA_BF16, {b, sk, hkv, 64}).normal(2);
      Attention call(Tensor(FOVEA_BF16, {b, sq, hq, 64}).normal(1), kv, kv);
      if (hq != 0 && hkv == 0) {
        call.expect_refusal(FOVEA_HEAD_RATIO);
        continue;
      }
      call.expect_reference();
      call.causal().expect_reference();
    }
  }
}

}  // namespace
}  // namespace fovea::bugs
