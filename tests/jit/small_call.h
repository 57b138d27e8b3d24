// A small forward call and its plan, for tests that run kernels on the model: one batch entry, one head, bf16.
#pragma once

#include <cmath>
#include <vector>

#include "backend/model/forward.h"
#include "base/numbers.h"
#include "select/fwd_mma.h"

namespace fovea::testing {

inline constexpr std::int64_t kRows = 40;
inline constexpr std::int64_t kKeys = 70;
inline constexpr std::int64_t kHeadDim = 64;

// One batch entry, one head, bf16, contiguous rows.
struct SmallCall {
  std::vector<u16> q, k, v, out;
  std::vector<float> lse;
  Problem problem;
  ForwardOperands operands;

  SmallCall() : q(kRows * kHeadDim), k(kKeys * kHeadDim), v(kKeys * kHeadDim), out(kRows * kHeadDim), lse(kRows) {
    fill(q, 1), fill(k, 2), fill(v, 3);
    problem.dtype = problem.out_dtype = FOVEA_BF16;
    problem.batch = problem.num_heads_q = problem.num_heads_kv = 1;
    problem.head_dim_qk = problem.head_dim_v = kHeadDim;
    problem.seqlen_q = problem.total_q = kRows;
    problem.seqlen_kv = kKeys;
    problem.has_lse = true;
    problem.softmax_scale = 0.125F;
    operands.q = rows(q, kRows), operands.k = rows(k, kKeys), operands.v = rows(v, kKeys);
    operands.out = rows(out, kRows);
    operands.rows_q = kRows, operands.rows_kv = kKeys;
    operands.lse = lse.data(), operands.lse_b = operands.lse_h = kRows, operands.lse_s = 1;
  }

  static void fill(std::vector<u16>& values, unsigned seed) {
    for (u16& value : values) {
      seed = seed * 1664525U + 1013904223U;
      value = f32_to_bf16(static_cast<float>(static_cast<int>(seed >> 24U) - 128) / 128.0F);
    }
  }
  static RowView rows(std::vector<u16>& values, std::int64_t count) {
    return {values.data(), FOVEA_BF16, count * kHeadDim, kHeadDim, kHeadDim, 1};
  }

  // Largest distance of out from attention in fp64; NaN where an element is NaN.
  double worst_error() const {
    double worst = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      double sum = 0;
      std::vector<double> exact(kHeadDim);
      for (std::int64_t j = 0; j < kKeys; ++j) {
        const double weight = std::exp(score(i, j));
        sum += weight;
        for (std::int64_t d = 0; d < kHeadDim; ++d) exact[static_cast<std::size_t>(d)] += weight * at(v, j, d);
      }
      for (std::int64_t d = 0; d < kHeadDim; ++d) {
        const double error = std::abs(at(out, i, d) - exact[static_cast<std::size_t>(d)] / sum);
        if (!(error <= worst)) worst = error;
      }
    }
    return worst;
  }

  double score(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < kHeadDim; ++d) sum += at(q, i, d) * at(k, j, d);
    return sum * static_cast<double>(problem.softmax_scale);
  }
  static double at(const std::vector<u16>& values, std::int64_t row, std::int64_t d) {
    return static_cast<double>(bf16_to_f32(values[static_cast<std::size_t>(row * kHeadDim + d)]));
  }
};

inline Plan plan_of(const SmallCall& call, int sm) {
  Caps caps;
  caps.gpu = architecture_caps(sm);
  caps.gpu.model = true;
  const Choice choice{.kernel = KernelId::fwd_mma, .spec = fwd_mma_spec(call.problem, caps.gpu)};
  return make_plan(call.problem, choice, caps);
}

}  // namespace fovea::testing
