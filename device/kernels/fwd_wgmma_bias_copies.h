// A bias that TMA cannot bring (rows that begin anywhere, fp32) in fwd_wgmma: three warps of the producer's warpgroup
// copy it, a key block at a time, as the aligned pieces of 16 bytes in which the block's keys of each row lie. A row's
// first piece begins up to 14 bytes before it, its lead, which is the same in every block. Consumers read single words.
#pragma once

#include "attention/score_views.h"
#include "kernels/fwd_wgmma_bias.h"
#include "tile/copy_end.h"

namespace fovea::kernels {

// Copies of the bias of a tile's blocks, by kHelperThreads threads.
template <FwdSpec kSpec>
class BiasCopies {
  static constexpr i32 kElement = kSpec.bias_element_bytes();
  static constexpr i32 kPitch = kSpec.bias_pitch();
  static constexpr i32 kPieces = kPitch / 16;
  static constexpr i32 kThreads = kHelperThreads;
  // All pieces of a row but the last by neighbouring threads, several rows at a time.
  static constexpr i32 kAcross = kPieces - 1;
  static constexpr i32 kRowStep = kThreads / kAcross;
  static constexpr i32 kParts = static_cast<i32>(BiasRing<kSpec>::kParts);
  static constexpr i32 kRows = kSpec.tile_m / kParts;  // of a part
  static_assert(!kSpec.copies_bias() || kThreads % kAcross == 0);

 public:
  FOVEA_INLINE BiasCopies(const FwdParams& p, const WgmmaWork& work, i32 thread) : view_(p.bias), thread_(thread) {
    last_ = last_row_of<kSpec>(p.bias, work);
    first_ = first_row_of<kSpec, kElement>(p.bias, work);
    across_ = first_ + thread / kAcross * stride() + 16 * (thread % kAcross);
    behind_ = first_ + thread * stride() + 16 * kAcross;
  }

  // Waits for a step's buffer and begins to bring the bias of `block`, one consumer's rows after the other's. Rows that
  // are no queries take the last one's place; keys past the view come as zeros, or whatever follows: position rules
  // hide them.
  FOVEA_INLINE void copy(const BiasRing<kSpec>& ring, i32 step, i32 block) const {
    const i32 key0 = block * kSpec.tile_n;
    const bool rows_end = key0 + kSpec.tile_n + 16 / kElement > view_.keys;
    FOVEA_UNROLL
    for (i32 part = 0; part < kParts; ++part) {
      ring.await_empty(step, static_cast<u32>(part));
      if (alike()) {
        copy_any(ring, step, part, key0, 1);
      } else if (rows_end || last_ + 1 < kSpec.tile_m) {
        copy_any(ring, step, part, key0, kRows);
      } else {
        copy_whole(ring, step, part, key0);
      }
      if (rows_end) {
        isa::cp_async_wait_all();
        ring.arrive(step, static_cast<u32>(part));
      } else {
        ring.arrive_behind_copies(step, static_cast<u32>(part));
      }
    }
  }

 private:
  FOVEA_INLINE bool alike() const { return view_.stride_q == 0; }
  FOVEA_INLINE i64 stride() const { return kElement * view_.stride_q; }

  // The aligned piece in which the block's keys that would lie at `keys` in block 0 begin.
  FOVEA_INLINE static void copy_piece(SmemPtr to, const u8* keys, i32 key0) {
    const u64 address = address_of(keys + kElement * static_cast<i64>(key0));
    isa::cp_async_cg(to, reinterpret_cast<const void*>(address & ~u64{15}), 16U);
  }
  // Of a tile whose rows are all queries.
  FOVEA_INLINE void copy_whole(const BiasRing<kSpec>& ring, i32 step, i32 part, i32 key0) const {
    const i32 row0 = thread_ / kAcross;
    const SmemPtr to = ring.piece(step, part * kRows + row0, thread_ % kAcross);
    const u8* keys = across_ + part * kRows * stride();
    FOVEA_UNROLL
    for (i32 i = 0; i < ceil_div(kRows, kRowStep); ++i, keys += kRowStep * stride()) {
      if ((i + 1) * kRowStep > kRows && row0 + i * kRowStep >= kRows) break;
      copy_piece(to + static_cast<u32>(i * kRowStep * kPitch), keys, key0);
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < ceil_div(kRows, kThreads); ++i) {
      const i32 row = thread_ + i * kThreads;
      if (row >= kRows) break;
      const u8* keys_behind = behind_ + (part * kRows + i * kThreads) * stride();
      copy_piece(ring.piece(step, part * kRows + row, kAcross), keys_behind, key0);
    }
  }

  // `rows` of any tile and block. What lies behind a row is 0.
  FOVEA_INLINE void copy_any(const BiasRing<kSpec>& ring, i32 step, i32 part, i32 key0, i32 rows) const {
    FOVEA_ROLLED
    for (i32 i = thread_; i < rows * kPieces; i += kThreads) {
      const i32 row = part * kRows + i / kPieces;
      const u8* keys = first_ + min(row, last_) * stride() + kElement * static_cast<i64>(key0);
      const i32 before = 16 * (i % kPieces) - static_cast<i32>(address_of(keys) & 15U);
      copy_row_end(ring.piece(step, row, i % kPieces), keys + before, kElement * (view_.keys - key0) - before);
    }
  }

  const ScoreTensor& view_;
  i32 thread_;
  const u8* first_;   // key 0 of the tile's first row
  i32 last_;          // the tile's last row that is a query
  const u8* across_;  // the thread's pieces of block 0: of its first row, and behind all others of a row
  const u8* behind_;
};

// Where no mask is looked at, the whole of it: tile by tile, as the producer asks.
template <FwdSpec kSpec>
class BiasCopier {
 public:
  FOVEA_INLINE BiasCopier(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 thread)
      : p_(p.fwd), ring_(ring), thread_(static_cast<i32>(thread)) {}

  FOVEA_INLINE void run() {
    i32 step = 0;
    for (i32 request = 0;; ++request) {
      const i32 turn = bias_.requests().take(request);
      if (turn == TileRequests::kEnd) break;
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(turn));
      const BiasCopies<kSpec> copies(p_, work, thread_);
      for (i32 block = work.blocks.last - 1; block >= work.blocks.first; --block) copies.copy(bias_, step++, block);
    }
  }

 private:
  const FwdParams& p_;
  WgmmaRing<kSpec> ring_;
  BiasRing<kSpec> bias_;
  i32 thread_;
};

}  // namespace fovea::kernels
