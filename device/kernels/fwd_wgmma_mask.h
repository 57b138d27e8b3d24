// A bool mask in fwd_wgmma: three warps of the producer's warpgroup go over a tile's mask ahead of K and V, and say
// which key blocks it leaves something of. A block of which it leaves nothing is never sent; of one of which it leaves
// a part they leave a bit per score in shared memory, in the order of the consumers' registers.
//
// The producer asks for a scan of a turn's tile; its answers are steps, which producer and consumers count alike: a key
// block, whether it is partly hidden, and whether it is the turn's last. A turn with keys has one step at least.
#pragma once

#include "kernels/fwd_wgmma_bias_copies.h"
#include "kernels/fwd_wgmma_mask_pieces.h"

namespace fovea::kernels {

template <FwdSpec kSpec>
class MaskScanner {
  using Ring = MaskRing<kSpec>;
  static constexpr i32 kAhead = kSpec.mask_buffers();

 public:
  FOVEA_INLINE MaskScanner(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 thread)
      : p_(p.fwd), ring_(ring), thread_(static_cast<i32>(thread)) {}

  FOVEA_INLINE void run() {
    if (p_.mask.reads == ViewReads::vectors) {
      scan_all<MaskVectors<kSpec>>();
    } else {
      scan_all<MaskWords<kSpec>>();
    }
  }

 private:
  template <class Pieces>
  FOVEA_INLINE void scan_all() {
    for (i32 scan = 0;; ++scan) {
      const i32 turn = steps_.scans().take(scan);
      if (turn == TileRequests::kEnd) break;
      scan_tile<Pieces>(ld_shared_object<WgmmaWork>(ring_.work(turn)));
    }
  }

  // From the last block to the first. A step is published once it is known whether another follows, and only then is
  // its bias copied, which waits for the consumers: K and V of the step are on their way.
  template <class Pieces>
  FOVEA_INLINE void scan_tile(const WgmmaWork& work) {
    Pieces pieces(p_, work, thread_);
    const BiasCopies<kSpec> copies(p_, work, thread_);  // kSpec.copies_bias() only
    constexpr u32 kNone = ~0U;
    u32 waiting = kNone;
    i32 buffer = 0;
    const auto publish = [&](u32 what) {
      steps_.publish(step_ - 1, what, thread_ == 0);
      if constexpr (kSpec.copies_bias()) copies.copy(bias_, step_ - 1, Ring::unpack(what).block);
    };
    const auto copy = [&](i32 to, i32 block) {
      if (block >= work.blocks.first) pieces.copy(steps_, to, block);
      isa::cp_async_commit_group();
    };
    FOVEA_UNROLL
    for (i32 ahead = 0; ahead < kAhead; ++ahead) copy(ahead, work.blocks.last - 1 - ahead);
    for (i32 block = work.blocks.last - 1; block >= work.blocks.first; --block) {
      isa::cp_async_wait_group<kAhead - 1>();
      pieces.read(steps_, buffer);
      copy(buffer, block - kAhead);
      buffer = buffer + 1 == kAhead ? 0 : buffer + 1;
      const bool some = isa::bar_red_or(Ring::kBarrier, Ring::kThreads, pieces.sees_some());
      if (!some && (block > work.blocks.first || waiting != kNone)) continue;
      const bool partial = isa::bar_red_or(Ring::kBarrier, Ring::kThreads, !pieces.sees_every());
      if (waiting != kNone) publish(waiting);
      waiting = static_cast<u32>(block) | (partial ? Ring::kPartial : 0U);
      steps_.await_empty(step_);
      if (partial) pieces.write_bits(steps_, step_);
      ++step_;
    }
    publish(waiting | Ring::kLast);
  }

  const FwdParams& p_;
  WgmmaRing<kSpec> ring_;
  Ring steps_;
  BiasRing<kSpec> bias_;
  i32 thread_;
  i32 step_ = 0;
};

}  // namespace fovea::kernels
