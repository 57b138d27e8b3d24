// What three warps that look at a bool mask, the producer and the consumers of fwd_wgmma exchange: scans that are asked
// for and steps that are found, with a bit per score of partly hidden blocks. See fwd_wgmma_mask.h.
#pragma once

#include "kernels/fwd_wgmma_requests.h"
#include "kernels/fwd_wgmma_ring.h"
#include "kernels/fwd_wgmma_scores.h"

namespace fovea::kernels {

struct MaskStep {
  i32 block;  // of keys
  bool partial, last;
};

// Steps and scans in shared memory. Bits of a step: a row has a 16-bit word per 16 keys, with four bits for each lane
// of the row's quad; see quad_bits().
template <FwdSpec kSpec>
class MaskRing {
  static constexpr u32 kSteps = kMaskSteps;
  static constexpr u32 kFull = 0, kEmpty = 32, kStepWords = 64, kScans = 80;
  static_assert(kSteps == 4 && kScans + TileRequests::kBytes <= kMaskHeader);
  static constexpr i32 kRowWords = kSpec.tile_n / 32;  // of bits
  static_assert(!kSpec.scans_mask() || kRowWords == 2 || kRowWords == 4);
  static constexpr u32 kPieces = static_cast<u32>(kSpec.mask_pieces());

 public:
  static constexpr u32 kPartial = 1U << 30U, kLast = 1U << 31U;  // of a step's word; below them its block
  static constexpr u32 kThreads = TileRequests::kThreads;        // that scan
  static constexpr u32 kBarrier = 8;                             // of named barriers, that of the scanners

  FOVEA_INLINE MaskRing() : smem_(SmemPtr{isa::smem_base()} + plan_smem(kSpec).mask_words) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kSteps); ++i) {
      isa::mbarrier_init(full(i), kThreads);
      isa::mbarrier_init(empty(i), static_cast<u32>(kSpec.tile_m) * 2U + 1U);  // the consumers, the producer
    }
    scans().init();
  }
  FOVEA_INLINE TileRequests scans() const { return TileRequests(smem_ + kScans); }

  // The producer's side, one thread.
  FOVEA_INLINE MaskStep await(i32 step) const {
    const u32 word = what(step);
    isa::mbarrier_arrive(empty(step));
    return unpack(word);
  }

  // The scanners' side.
  FOVEA_INLINE void await_empty(i32 step) const { isa::mbarrier_wait_parity(empty(step), parity(step) ^ 1U); }
  // All threads, each after its bits of the step are written; one of them writes its word.
  FOVEA_INLINE void publish(i32 step, u32 what, bool writes) const {
    if (writes) isa::st_shared<u32>(word(step), what);
    isa::mbarrier_arrive(full(step));
  }

  // The consumers' side, and the producer's: waits for a step's word.
  FOVEA_INLINE u32 what(i32 step) const {
    isa::mbarrier_wait_parity(full(step), parity(step));
    return isa::ld_shared<u32>(word(step));
  }
  FOVEA_INLINE static MaskStep unpack(u32 what) {
    return {static_cast<i32>(what & (kPartial - 1U)), (what & kPartial) != 0, (what & kLast) != 0};
  }
  FOVEA_INLINE SmemPtr row_bits(i32 step, i32 row) const {
    return smem_ + kMaskHeader + slot(step) * kBitsBytes + static_cast<u32>(4 * kRowWords * row);
  }
  // Of one row, as they lie there.
  FOVEA_INLINE Array<u32, kRowWords> bits_of(i32 step, i32 row) const {
    if constexpr (kRowWords == 2) {
      return __builtin_bit_cast(Array<u32, 2>, isa::ld_shared<U32x2>(row_bits(step, row)));
    } else {
      return __builtin_bit_cast(Array<u32, 4>, isa::ld_shared<U32x4>(row_bits(step, row)));
    }
  }
  // Where thread `thread` of the scanners finds its i-th piece of the mask of a block.
  FOVEA_INLINE SmemPtr piece(i32 buffer, i32 thread, i32 i) const {
    const u32 first = kMaskHeader + kSteps * kBitsBytes + static_cast<u32>(buffer) * kPieces * 16U;
    return smem_ + first + 16U * (static_cast<u32>(thread) + kThreads * static_cast<u32>(i));
  }
  // Where the scanners exchange bits: 16 for each piece.
  FOVEA_INLINE SmemPtr exchange(i32 piece) const {
    constexpr u32 kBuffers = static_cast<u32>(kSpec.mask_buffers());
    return smem_ + (kMaskHeader + kSteps * kBitsBytes + kBuffers * kPieces * 16U) + 2U * static_cast<u32>(piece);
  }
  // A thread, when it has left the step's word and bits.
  FOVEA_INLINE void release(i32 step) const { isa::mbarrier_arrive(empty(step)); }

 private:
  static constexpr u32 kBitsBytes = static_cast<u32>(4 * kRowWords * kSpec.tile_m);
  FOVEA_INLINE static u32 slot(i32 step) { return static_cast<u32>(step) % kSteps; }
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step) / kSteps % 2U; }
  FOVEA_INLINE SmemPtr full(i32 step) const { return smem_ + (kFull + 8U * slot(step)); }
  FOVEA_INLINE SmemPtr empty(i32 step) const { return smem_ + (kEmpty + 8U * slot(step)); }
  FOVEA_INLINE SmemPtr word(i32 step) const { return smem_ + (kStepWords + 4U * slot(step)); }

  SmemPtr smem_;
};

// Hides, by -inf, the scores that one of the lane's rows does not see.
template <i32 kColumns>
FOVEA_INLINE void hide_by_bits(WgmmaAcc<kColumns>& s, i32 half, const Array<u32, kColumns / 32>& row) {
  const u32 quad = 4U * (isa::laneid() & 3U);
  Array<u32, kColumns / 32> word;
  FOVEA_UNROLL
  for (i32 i = 0; i < word.kSize; ++i) word[i] = row[i] >> quad;
  FOVEA_UNROLL
  for (i32 i = 0; i < kColumns / 4; ++i) {
    const u32 bit = static_cast<u32>(i / 4 % 2 * 16 + i % 4);
    if ((word[i / 8] >> bit & 1U) == 0U) s.at(i / 2, half, i % 2) = kMinusInfinity;
  }
}

}  // namespace fovea::kernels
