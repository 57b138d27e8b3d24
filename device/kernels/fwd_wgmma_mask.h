// A bool mask in fwd_wgmma: three warps of the producer's warpgroup go over a tile's mask ahead of K and V, and say
// which key blocks it leaves something of. A block of which it leaves nothing is never sent; of one of which it leaves
// a part they leave a bit per score in shared memory, in the order of the consumers' registers.
//
// The producer asks for a scan of a turn's tile; its answers are steps, which producer and consumers count alike: a key
// block, whether it is partly hidden, and whether it is the turn's last. A turn with keys has one step at least.
#pragma once

#include "attention/score_views.h"
#include "kernels/fwd_wgmma_ring.h"
#include "kernels/fwd_wgmma_scores.h"

namespace fovea::kernels {

struct MaskStep {
  i32 block;  // of keys
  bool partial, last;
};

// Steps and scans in shared memory. Bits of a step: a row has 16 bytes, a 16-bit word per 16 keys with four bits for
// each lane of the row's quad; see quad_bits().
template <FwdSpec kSpec>
class MaskRing {
  static constexpr u32 kSteps = kMaskSteps;
  static constexpr u32 kScans = 2;
  static constexpr u32 kFull = 0, kEmpty = 32, kScanFull = 64, kScanEmpty = 80, kStepWords = 96, kScanWords = 112;
  static_assert(kSteps == 4 && kScanWords + 4 * kScans <= kMaskHeader && (!kSpec.scans_mask() || kSpec.tile_n == 128));

 public:
  static constexpr u32 kPartial = 1U << 30U, kLast = 1U << 31U;  // of a step's word; below them its block
  static constexpr u32 kWarps = 3;                               // that scan
  static constexpr u32 kThreads = 32U * kWarps;
  static constexpr i32 kPieces = kSpec.tile_n / 16;  // 16-byte pieces of a row of mask
  static constexpr i32 kEndOfScans = -1;

  FOVEA_INLINE MaskRing() : smem_(SmemPtr{isa::smem_base()} + plan_smem(kSpec).mask_words) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kSteps); ++i) {
      isa::mbarrier_init(full(i), kThreads);
      isa::mbarrier_init(empty(i), static_cast<u32>(kSpec.tile_m) * 2U + 1U);  // the consumers, the producer
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kScans); ++i) {
      isa::mbarrier_init(scan_full(i), 1U);
      isa::mbarrier_init(scan_empty(i), kWarps);
    }
  }

  // The producer's side, one thread: scan number `scan` is that of `turn`, or kEndOfScans.
  FOVEA_INLINE void ask(i32 scan, i32 turn) const {
    isa::mbarrier_wait_parity(scan_empty(scan), scan_parity(scan) ^ 1U);
    isa::st_shared<u32>(scan_word(scan), static_cast<u32>(turn));
    isa::mbarrier_arrive(scan_full(scan));
  }
  FOVEA_INLINE MaskStep await(i32 step) const {
    const u32 word = what(step);
    isa::mbarrier_arrive(empty(step));
    return unpack(word);
  }

  // The scanners' side, a whole warp.
  FOVEA_INLINE i32 take_scan(i32 scan) const {
    if (isa::laneid() == 0) isa::mbarrier_wait_parity(scan_full(scan), scan_parity(scan));
    isa::bar_warp_sync(0xffffffffU);
    const auto turn = static_cast<i32>(isa::ld_shared<u32>(scan_word(scan)));
    isa::bar_warp_sync(0xffffffffU);
    if (isa::laneid() == 0) isa::mbarrier_arrive(scan_empty(scan));
    return turn;
  }
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
    return smem_ + kMaskHeader + slot(step) * kBitsBytes + 16U * static_cast<u32>(row);
  }
  // Where thread `thread` of the scanners finds its i-th piece of the mask of a block.
  FOVEA_INLINE SmemPtr piece(i32 buffer, i32 thread, i32 i) const {
    const u32 first = kMaskHeader + kSteps * kBitsBytes + static_cast<u32>(buffer) * kMaskPieces * 16U;
    return smem_ + first + 16U * (static_cast<u32>(thread) + kThreads * static_cast<u32>(i));
  }
  // A thread, when it has left the step's word and bits.
  FOVEA_INLINE void release(i32 step) const { isa::mbarrier_arrive(empty(step)); }

 private:
  static constexpr u32 kBitsBytes = 16U * static_cast<u32>(kSpec.tile_m);
  FOVEA_INLINE static u32 slot(i32 step) { return static_cast<u32>(step) % kSteps; }
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step) / kSteps % 2U; }
  FOVEA_INLINE static u32 scan_slot(i32 scan) { return static_cast<u32>(scan) % kScans; }
  FOVEA_INLINE static u32 scan_parity(i32 scan) { return static_cast<u32>(scan) / kScans % 2U; }
  FOVEA_INLINE SmemPtr full(i32 step) const { return smem_ + (kFull + 8U * slot(step)); }
  FOVEA_INLINE SmemPtr empty(i32 step) const { return smem_ + (kEmpty + 8U * slot(step)); }
  FOVEA_INLINE SmemPtr word(i32 step) const { return smem_ + (kStepWords + 4U * slot(step)); }
  FOVEA_INLINE SmemPtr scan_full(i32 scan) const { return smem_ + (kScanFull + 8U * scan_slot(scan)); }
  FOVEA_INLINE SmemPtr scan_empty(i32 scan) const { return smem_ + (kScanEmpty + 8U * scan_slot(scan)); }
  FOVEA_INLINE SmemPtr scan_word(i32 scan) const { return smem_ + (kScanWords + 4U * scan_slot(scan)); }

  SmemPtr smem_;
};

// Sixteen mask bytes as four bits for each lane q of a quad: keys 2q, 2q + 1, 2q + 8, 2q + 9.
FOVEA_INLINE u16 quad_bits(const U32x4& bytes) {
  // The bits of keys 0 to 3 come as 7, 15, 23 and 31; the multiplier moves them to 26, 27, 30 and 31.
  const auto gather = [](u32 word) { return nonzero_bytes(word) * 0x81081U; };
  return static_cast<u16>((gather(bytes.x) >> 26U & 0x33U) | (gather(bytes.z) >> 24U & 0xccU) |
                          (gather(bytes.y) >> 18U & 0x3300U) | (gather(bytes.w) >> 16U & 0xcc00U));
}

// Not 0 where some byte of the word is 0.
FOVEA_INLINE u32 zero_bytes(u32 word) { return (word - 0x01010101U) & ~word & 0x80808080U; }

// Hides, by -inf, the scores that one of the lane's rows does not see.
template <i32 kColumns>
FOVEA_INLINE void hide_by_bits(WgmmaAcc<kColumns>& s, i32 half, const U32x4& row) {
  const u32 quad = 4U * (isa::laneid() & 3U);
  const Array<u32, 4> word{{row.x >> quad, row.y >> quad, row.z >> quad, row.w >> quad}};
  FOVEA_UNROLL
  for (i32 i = 0; i < kColumns / 4; ++i) {
    const u32 bit = static_cast<u32>(i / 4 % 2 * 16 + i % 4);
    if ((word[i / 8] >> bit & 1U) == 0U) s.at(i / 2, half, i % 2) = kMinusInfinity;
  }
}

template <FwdSpec kSpec>
class MaskScanner {
  using Ring = MaskRing<kSpec>;
  static constexpr u32 kBarrier = 8;  // of named barriers
  static constexpr u32 kThreads = Ring::kThreads;
  static constexpr i32 kRowStep = static_cast<i32>(kThreads) / Ring::kPieces;
  static constexpr i32 kPiecesPerThread = ceil_div(kSpec.tile_m * Ring::kPieces, static_cast<i32>(kThreads));
  static constexpr i32 kAhead = kSpec.mask_buffers();
  static_assert(static_cast<u32>(kPiecesPerThread) * kThreads == kMaskPieces);

 public:
  FOVEA_INLINE MaskScanner(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 thread)
      : p_(p.fwd), ring_(ring), thread_(static_cast<i32>(thread)) {}

  FOVEA_INLINE void run() {
    for (i32 scan = 0;; ++scan) {
      const i32 turn = steps_.take_scan(scan);
      if (turn == Ring::kEndOfScans) break;
      scan_tile(ld_shared_object<WgmmaWork>(ring_.work(turn)));
    }
  }

 private:
  // From the last block to the first. A step is published once it is known whether another follows.
  FOVEA_INLINE void scan_tile(const WgmmaWork& work) {
    const Rows rows = rows_of(work);
    constexpr u32 kNone = ~0U;
    u32 waiting = kNone;
    i32 buffer = 0;
    FOVEA_UNROLL
    for (i32 ahead = 0; ahead < kAhead; ++ahead) copy(rows, ahead, work.blocks.last - 1 - ahead, work.blocks.first);
    for (i32 block = work.blocks.last - 1; block >= work.blocks.first; --block) {
      isa::cp_async_wait_group<kAhead - 1>();
      read(buffer);
      copy(rows, buffer, block - kAhead, work.blocks.first);
      buffer = buffer + 1 == kAhead ? 0 : buffer + 1;
      const bool some = isa::bar_red_or(kBarrier, kThreads, sees_some());
      if (!some && (block > work.blocks.first || waiting != kNone)) continue;
      const bool partial = isa::bar_red_or(kBarrier, kThreads, !sees_every());
      if (waiting != kNone) publish(waiting);
      waiting = static_cast<u32>(block) | (partial ? Ring::kPartial : 0U);
      steps_.await_empty(step_);
      if (partial) write_bits();
      ++step_;
    }
    publish(waiting | Ring::kLast);
  }
  FOVEA_INLINE void publish(u32 what) const { steps_.publish(step_ - 1, what, thread_ == 0); }

  // A thread reads one piece of every kRowStep-th row of a tile.
  struct Rows {
    const u8* first;  // key 0 of the first of them
    i32 more;         // rows of the tile that are queries, behind the first
  };
  FOVEA_INLINE Rows rows_of(const WgmmaWork& work) const {
    const i32 queries = min(min(work.seq.q_used, p_.mask.rows), work.tile.row0 + kSpec.tile_m);
    const i32 query = min(work.tile.row0 + thread_ / Ring::kPieces, queries - 1);
    const i64 base = view_base<kSpec>(p_.mask, work.tile);
    return {static_cast<const u8*>(p_.mask.data) + view_row<kSpec>(p_.mask, base, work.tile.head_q, query),
            queries - 1 - query};
  }

  // Begins to bring the mask of a block, unless the tile has it not. Rows that are no queries, and keys past the mask,
  // which position rules hide, take others' place. Every thread reads what it copied itself.
  FOVEA_INLINE void copy(const Rows& rows, i32 buffer, i32 block, i32 first_block) const {
    if (block >= first_block) {
      const i32 key = min(block * kSpec.tile_n + 16 * (thread_ % Ring::kPieces), p_.mask.keys - 16);
      const i64 step = kRowStep * p_.mask.stride_q;
      const u8* piece = rows.first + key;
      FOVEA_UNROLL
      for (i32 i = 0; i < kPiecesPerThread; ++i) {
        if (i > 0 && alike()) break;
        if (i > 0 && i * kRowStep <= rows.more) piece += step;
        isa::cp_async_cg(steps_.piece(buffer, thread_, i), piece, 16U);
      }
    }
    isa::cp_async_commit_group();
  }
  FOVEA_INLINE void read(i32 buffer) {
    bytes_[0] = isa::ld_shared<U32x4>(steps_.piece(buffer, thread_, 0));
    FOVEA_UNROLL
    for (i32 i = 1; i < kPiecesPerThread; ++i) {
      bytes_[i] = alike() ? bytes_[0] : isa::ld_shared<U32x4>(steps_.piece(buffer, thread_, i));
    }
  }
  FOVEA_INLINE bool sees_some() const {
    u32 any = 0;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPiecesPerThread; ++i) any |= bytes_[i].x | bytes_[i].y | bytes_[i].z | bytes_[i].w;
    return any != 0;
  }
  FOVEA_INLINE bool sees_every() const {
    u32 hidden = 0;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPiecesPerThread; ++i) {
      const U32x4& b = bytes_[i];
      hidden |= zero_bytes(b.x) | zero_bytes(b.y) | zero_bytes(b.z) | zero_bytes(b.w);
    }
    return hidden == 0;
  }
  FOVEA_INLINE void write_bits() const {
    const i32 pieces = alike() ? Ring::kPieces : kSpec.tile_m * Ring::kPieces;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPiecesPerThread; ++i) {
      const i32 piece = thread_ + i * static_cast<i32>(kThreads);
      if (piece >= pieces) continue;
      isa::st_shared<u16>(steps_.row_bits(step_, 0) + 2U * static_cast<u32>(piece), quad_bits(bytes_[i]));
    }
  }
  // Whether all rows have the same mask.
  FOVEA_INLINE bool alike() const { return p_.mask.stride_q == 0; }

  const FwdParams& p_;
  WgmmaRing<kSpec> ring_;
  Ring steps_;
  i32 thread_;
  i32 step_ = 0;
  Array<U32x4, kPiecesPerThread> bytes_;
};

}  // namespace fovea::kernels
