// The fp32 micro-kernel: C[MR][NV vectors] (+)= A[MR][k] * B[k][NV vectors], accumulators in registers.
// A is read one scalar at a time (broadcast), B one vector at a time from packed panels. Both products of attention
// use it; an element's sum runs over k in order whatever MR and NV are, so tile shapes never change a bit. Long sums
// are cut into calls that add to C: shorter chains, smaller rounding errors.
#if defined(FOVEA_CPU_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_GEMM_INL_H_
#undef FOVEA_CPU_GEMM_INL_H_
#else
#define FOVEA_CPU_GEMM_INL_H_
#endif

#include "backend/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

// Rows of one full register tile: 12 x 2 accumulators fill 32 registers, 6 x 2 fill 16.
inline constexpr int kGemmRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;
// Floats per row of a packed panel: two vectors.
HWY_INLINE constexpr std::int64_t panel_width() { return 2 * lanes(); }

// Element (row, k) of A lies at row*kRow + k*kStep: constants, so that rows become address displacements.
template <int kRowStride, int kStepStride>
struct AStrides {
  static constexpr std::int64_t kRow = kRowStride;
  static constexpr std::int64_t kStep = kStepStride;
};

struct GemmOperands {
  const float* a;
  const float* b;  // vector j of step k at b + k*panel_width() + j*lanes()
  float* c;        // row r at c + r*c_row
  std::int64_t c_row;
  std::int64_t k;
  bool accumulate;  // add the sum to C instead of storing it
};

template <class A, int MR, int NV>
HWY_INLINE void gemm_block(const GemmOperands& g) {
  const DF d;
  VF acc[MR][NV];
#pragma GCC unroll 12
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) acc[r][j] = hn::Zero(d);
  }
  const float* HWY_RESTRICT a = g.a;
  const float* HWY_RESTRICT b = g.b;
  // Four steps at a time: a core that runs two threads starts instructions more slowly than it multiplies.
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < g.k; ++k, a += A::kStep, b += panel_width()) {
    VF vb[NV];
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) vb[j] = hn::LoadU(d, b + j * lanes());
#pragma GCC unroll 12
    for (int r = 0; r < MR; ++r) {
      const VF va = hn::Set(d, a[r * A::kRow]);
#pragma GCC unroll 2
      for (int j = 0; j < NV; ++j) acc[r][j] = hn::MulAdd(va, vb[j], acc[r][j]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) {
      float* c = g.c + r * g.c_row + j * lanes();
      hn::StoreU(g.accumulate ? hn::Add(hn::LoadU(d, c), acc[r][j]) : acc[r][j], d, c);
    }
  }
}

// Any number of rows up to kGemmRows, in pieces of 12 (6), 8 (4), 4, 2 and 1.
template <class A, int NV>
HWY_INLINE void gemm_rows(GemmOperands g, int rows) {
  const auto advance = [&g, &rows](int done) {
    g.a += done * A::kRow;
    g.c += done * g.c_row;
    rows -= done;
  };
  if (rows == kGemmRows) return gemm_block<A, kGemmRows, NV>(g);
  if constexpr (kGemmRows > 8) {
    if (rows >= 8) {
      gemm_block<A, 8, NV>(g);
      advance(8);
    }
  }
  if (rows >= 4) {
    gemm_block<A, 4, NV>(g);
    advance(4);
  }
  if (rows >= 2) {
    gemm_block<A, 2, NV>(g);
    advance(2);
  }
  if (rows == 1) gemm_block<A, 1, NV>(g);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
