// Warpgroup matrix products (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"; SM90a
// only). _ss: both operands from shared memory; _rs: A from registers. The accumulators change at wait_group.
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE void wgmma_fence() { model::this_thread().wgmma_fence(); }
FOVEA_INLINE void wgmma_commit_group() { model::this_thread().wgmma_commit_group(); }
template <int kNewestPending>
FOVEA_INLINE void wgmma_wait_group() {
  model::this_thread().wgmma_wait_group(static_cast<u32>(kNewestPending));
}

// Keeps accumulators in place under the device compiler; here they are where they are.
FOVEA_INLINE void wgmma_fence_operand(f32& /*reg*/) {}

namespace detail {
template <int N>
FOVEA_INLINE void wgmma(model::Wgmma op, Array<f32, N / 2>& d, const u32* a, u64 desc_a, u64 desc_b, bool scale_d,
                        bool trans_a, bool trans_b) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0);
  model::this_thread().wgmma({op, N, trans_a, trans_b, d.v, a, desc_a, desc_b, scale_d});
}
}  // namespace detail

template <int N, int TransA, int TransB>
FOVEA_INLINE void wgmma_m64k16_f32_bf16_ss(Array<f32, N / 2>& d, u64 desc_a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k16_bf16, d, nullptr, desc_a, desc_b, scale_d, TransA != 0, TransB != 0);
}
template <int N, int TransA, int TransB>
FOVEA_INLINE void wgmma_m64k16_f32_f16_ss(Array<f32, N / 2>& d, u64 desc_a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k16_f16, d, nullptr, desc_a, desc_b, scale_d, TransA != 0, TransB != 0);
}
template <int N, int TransB>
FOVEA_INLINE void wgmma_m64k16_f32_bf16_rs(Array<f32, N / 2>& d, Array<u32, 4> a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k16_bf16, d, a.v, 0, desc_b, scale_d, false, TransB != 0);
}
template <int N, int TransB>
FOVEA_INLINE void wgmma_m64k16_f32_f16_rs(Array<f32, N / 2>& d, Array<u32, 4> a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k16_f16, d, a.v, 0, desc_b, scale_d, false, TransB != 0);
}
template <int N>
FOVEA_INLINE void wgmma_m64k32_f32_e4m3_ss(Array<f32, N / 2>& d, u64 desc_a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k32_e4m3, d, nullptr, desc_a, desc_b, scale_d, false, false);
}
template <int N>
FOVEA_INLINE void wgmma_m64k32_f32_e4m3_rs(Array<f32, N / 2>& d, Array<u32, 4> a, u64 desc_b, bool scale_d) {
  detail::wgmma<N>(model::Wgmma::k32_e4m3, d, a.v, 0, desc_b, scale_d, false, false);
}

}  // namespace fovea::isa
