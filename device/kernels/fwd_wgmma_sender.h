// A warp of fwd_wgmma that sends the output of one consumer, so that the consumer goes on as soon as its rows are in
// shared memory: kSpec.sends_apart().
#pragma once

#include "kernels/fwd_wgmma_output.h"

namespace fovea::kernels {

// Hand-overs of a consumer's part of the output tile, which both sides count alike.
template <FwdSpec kSpec>
class OutQueue {
 public:
  static constexpr u32 kEnd = 0xffffffffU;  // nothing follows

  FOVEA_INLINE OutQueue(const WgmmaRing<kSpec>& ring, u32 group) : ring_(ring), group_(group) {}

  // The consumer's side, all threads. `again`: over what an earlier turn wrote.
  FOVEA_INLINE void await_empty() const { isa::mbarrier_wait_parity(ring_.out_empty(group_), parity() ^ 1U); }
  FOVEA_INLINE void hand_over(i32 turn, bool again) { publish(2U * static_cast<u32>(turn) + (again ? 1U : 0U)); }
  FOVEA_INLINE void end() {
    await_empty();
    publish(kEnd);
  }

  // The sender's side, a whole warp.
  FOVEA_INLINE u32 await() const {
    isa::mbarrier_wait_parity(ring_.out_full(group_), parity());
    return isa::ld_shared<u32>(ring_.out_word(group_));
  }
  FOVEA_INLINE static i32 turn(u32 word) { return static_cast<i32>(word / 2U); }
  FOVEA_INLINE static bool again(u32 word) { return word % 2U != 0U; }
  FOVEA_INLINE void hand_back() {
    isa::mbarrier_arrive(ring_.out_empty(group_));
    ++count_;
  }

 private:
  FOVEA_INLINE u32 parity() const { return count_ % 2U; }
  FOVEA_INLINE void publish(u32 word) {
    if (isa::tid_x() % 128U == 0U) isa::st_shared<u32>(ring_.out_word(group_), word);
    isa::mbarrier_arrive(ring_.out_full(group_));
    ++count_;
  }

  WgmmaRing<kSpec> ring_;
  u32 group_;
  u32 count_ = 0;
};

template <FwdSpec kSpec>
class Sender {
 public:
  FOVEA_INLINE Sender(const FwdWgmmaParams& p, const WgmmaRing<kSpec>& ring, u32 group)
      : p_(p), ring_(ring), group_(group), queue_(ring, group) {}

  FOVEA_INLINE void run() {
    for (u32 word = queue_.await(); word != OutQueue<kSpec>::kEnd; word = queue_.await()) {
      const auto work = ld_shared_object<WgmmaWork>(ring_.work(OutQueue<kSpec>::turn(word)));
      if (OutQueue<kSpec>::again(word) && isa::elect_sync()) isa::bulk_wait_group<0>();
      FOVEA_ROLLED
      for (u32 warp = 4U * group_; warp < 4U * group_ + 4U; ++warp) {
        const i32 row = work.tile.row0 + static_cast<i32>(16U * warp);
        begin_to_send<kSpec>(p_, work, {ring_.out_tile() + warp * kWarpOut<kSpec>.bytes(), row, 0});
      }
      if (isa::elect_sync()) isa::bulk_wait_group_read<0>();
      isa::bar_warp_sync(0xffffffffU);
      queue_.hand_back();
    }
  }

 private:
  const FwdWgmmaParams& p_;
  WgmmaRing<kSpec> ring_;
  u32 group_;
  OutQueue<kSpec> queue_;
};

}  // namespace fovea::kernels
