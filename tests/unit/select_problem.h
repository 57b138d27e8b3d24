// A plain call, and what every refusal has, for the tests of support and choice.
#pragma once

#include <gtest/gtest.h>

#include "core/error.h"
#include "select/problem.h"

namespace fovea::test {

inline Problem problem(fovea_dtype dtype) {
  Problem p;
  p.dtype = dtype;
  p.batch = 1, p.num_heads_q = 4, p.num_heads_kv = 2, p.head_dim_qk = 64, p.head_dim_v = 64;
  p.seqlen_q = p.total_q = 128, p.seqlen_kv = 128;
  return p;
}

inline void expect_full(const Error& error) {
  EXPECT_FALSE(error.asked.empty());
  EXPECT_FALSE(error.allowed.empty());
  EXPECT_FALSE(error.why.empty());
  EXPECT_FALSE(error.hint.empty());
}

}  // namespace fovea::test
