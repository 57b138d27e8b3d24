// What the producer of fwd_wgmma asks of the other warps of its warpgroup where these work for it: a turn's tile, one
// request after the other, which both sides count alike.
#pragma once

#include "kernels/fwd_wgmma_ring.h"

namespace fovea::kernels {

class TileRequests {
  static constexpr u32 kSlots = 2;
  static constexpr u32 kFull = 0, kEmpty = 16, kWord = 32;

 public:
  static constexpr u32 kBytes = kWord + 4 * kSlots;
  static constexpr u32 kThreads = static_cast<u32>(kHelperThreads);  // that work
  static constexpr u32 kWarps = kThreads / 32U;
  static constexpr i32 kEnd = -1;  // instead of a turn: no request follows

  FOVEA_INLINE explicit TileRequests(SmemPtr smem) : smem_(smem) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kSlots); ++i) {
      isa::mbarrier_init(full(i), 1U);
      isa::mbarrier_init(empty(i), kWarps);
    }
  }
  // The producer's side, one thread: request number `request` is the tile of `turn`.
  FOVEA_INLINE void ask(i32 request, i32 turn) const {
    isa::mbarrier_wait_parity(empty(request), parity(request) ^ 1U);
    isa::st_shared<u32>(word(request), static_cast<u32>(turn));
    isa::mbarrier_arrive(full(request));
  }
  // The other side, a whole warp. Returns the turn.
  FOVEA_INLINE i32 take(i32 request) const {
    if (isa::laneid() == 0) isa::mbarrier_wait_parity(full(request), parity(request));
    isa::bar_warp_sync(0xffffffffU);
    const auto turn = static_cast<i32>(isa::ld_shared<u32>(word(request)));
    isa::bar_warp_sync(0xffffffffU);
    if (isa::laneid() == 0) isa::mbarrier_arrive(empty(request));
    return turn;
  }

 private:
  FOVEA_INLINE static u32 slot(i32 request) { return static_cast<u32>(request) % kSlots; }
  FOVEA_INLINE static u32 parity(i32 request) { return static_cast<u32>(request) / kSlots % 2U; }
  FOVEA_INLINE SmemPtr full(i32 request) const { return smem_ + (kFull + 8U * slot(request)); }
  FOVEA_INLINE SmemPtr empty(i32 request) const { return smem_ + (kEmpty + 8U * slot(request)); }
  FOVEA_INLINE SmemPtr word(i32 request) const { return smem_ + (kWord + 4U * slot(request)); }

  SmemPtr smem_;
};

}  // namespace fovea::kernels
