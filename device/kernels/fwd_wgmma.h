// fwd_wgmma: attention forward on SM90 with wgmma and TMA. Persistent CTAs take tiles of tile_m query rows of one head:
// a producer warp brings Q and, through a ring of stages, K and V; a consumer warpgroup per 64 rows computes, and hands
// its rows to TMA while the next tile's are already there.
#pragma once

#include "kernels/fwd_wgmma_bias.h"
#include "kernels/fwd_wgmma_consumer.h"
#include "kernels/fwd_wgmma_mask.h"
#include "kernels/fwd_wgmma_producer.h"
#include "kernels/fwd_wgmma_sender.h"

namespace fovea::kernels {

// 128 threads of the producer, of which one warp works, and the others look at a mask, copy a bias or send output; then
// the consumers. Registers go from the first to the others.
template <FwdSpec kSpec>
FOVEA_INLINE void fwd_wgmma(const FwdWgmmaParams& p) {
  static_assert(well_formed(kSpec) && kSpec.family == Family::wgmma);
  constexpr bool kThree = kSpec.tile_m == 192;
  constexpr bool kWide = kSpec.head_dim_v > 128;
  constexpr bool kMasked = kSpec.scans_mask();
  const WgmmaRing<kSpec> ring(SmemPtr{isa::smem_base()});
  if (isa::tid_x() == 0) {
    ring.init();
    if constexpr (kMasked) MaskRing<kSpec>().init();
    if constexpr (kSpec.bias_tiles) BiasRing<kSpec>().init();
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  if (isa::tid_x() < 128U) {
    isa::setmaxnreg_dec<(kThree ? 32 : (kWide ? (kMasked ? 56 : 40) : (kMasked ? 88 : 72)))>();
    if (isa::tid_x() < 32U) {
      Producer<kSpec>(p, ring).run();
    } else if constexpr (kMasked) {
      MaskScanner<kSpec>(p, ring, isa::tid_x() - 32U).run();
    } else if constexpr (kSpec.copies_bias()) {
      BiasCopier<kSpec>(p, ring, isa::tid_x() - 32U).run();
    } else if constexpr (kSpec.sends_apart()) {
      const u32 group = isa::tid_x() / 32U - 1U;
      if (group < kSpec.consumers()) Sender<kSpec>(p, ring, group).run();
    }
  } else {
    isa::setmaxnreg_inc<(kThree ? 160 : (kWide ? (kMasked ? 224 : 232) : (kMasked ? 208 : 216)))>();
    Consumer<kSpec>(p, ring, isa::tid_x() / 128U - 1U).run();
  }
}

}  // namespace fovea::kernels
