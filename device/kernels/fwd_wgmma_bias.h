// An additive bias of 16 bits in fwd_wgmma: TMA brings that of a block of keys beside its K, and the consumers read it
// by ldmatrix, which delivers the columns of a wgmma accumulator: its narrowed registers are an A operand's. A bias
// that is the same for all rows is one row in shared memory, which all of them read.
#pragma once

#include "attention/score_views.h"
#include "kernels/fwd_wgmma_ring.h"
#include "kernels/fwd_wgmma_scores.h"
#include "tile/ldmatrix.h"

namespace fovea::kernels {

// Bias tiles in shared memory and their barriers. Steps are those of K; see WgmmaRing.
template <FwdSpec kSpec>
class BiasRing {
  static constexpr SmemPlan kSmem = plan_smem(kSpec);
  static constexpr u32 kBuffers = static_cast<u32>(kSpec.bias_buffers());
  static constexpr u32 kConsumers = kSpec.consumers();
  using Tile = LdmatrixView<kSpec.bias_tile(), LdmatrixPattern::a_row_major>;
  static_assert(16U * kBuffers <= kBiasHeader);

 public:
  FOVEA_INLINE BiasRing() : smem_(SmemPtr{isa::smem_base()} + kSmem.bias) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (i32 i = 0; i < static_cast<i32>(kBuffers); ++i) {
      isa::mbarrier_init(full(i), 1U);
      isa::mbarrier_init(empty(i), 4U * kConsumers);
    }
  }

  // The producer's side, one thread: waits for a step's buffer and begins to bring the bias of the block at key0. Rows
  // and keys past the view's extents become zero; position rules hide those keys.
  FOVEA_INLINE void load(i32 step, const FwdWgmmaParams& p, const WgmmaWork& work, i32 key0) const {
    const ScoreTensor& view = p.fwd.bias;
    const bool alike = view.stride_q == 0;
    const i32 head = view.stride_h == 0 ? 0 : work.tile.head_q / view.head_group;
    const i32 batch = view.stride_b == 0 ? 0 : work.tile.batch;
    isa::mbarrier_wait_parity(empty(step), parity(step) ^ 1U);
    isa::mbarrier_arrive_expect_tx(full(step), alike ? kRowBytes : kSpec.bias_tile().bytes());
    FOVEA_UNROLL
    for (i32 panel = 0; panel < kSpec.bias_tile().panels(); ++panel) {
      isa::tma_load_4d(tile(step) + static_cast<u32>(panel) * kSpec.bias_tile().panel_bytes(), &p.bias, full(step),
                       key0 + 64 * panel, alike ? 0 : work.tile.row0, head, batch);
    }
  }

  // The consumers' side, a whole warp, whose rows of the tile begin at `row`: products (kSpec.transformed:
  // scores but for the bias) -> scores. kExact: a bias of -inf hides a score that is NaN or +Inf as well; otherwise
  // their sum is NaN, which the tile's sums show.
  template <bool kExact>
  FOVEA_INLINE void add(i32 step, u32 row, WgmmaAcc<kSpec.tile_n>& s, const FwdParams& p) const {
    isa::mbarrier_wait_parity(full(step), parity(step));
    Tile rows(tile(step) + row * SmemTile::kRowBytes);
    if (p.bias.stride_q == 0) {
      rows.lane_base = tile(step).address + (lane_chunk(LdmatrixPattern::a_row_major, isa::laneid()) << 4U);
    }
    FOVEA_UNROLL
    for (i32 i = 0; i < kSpec.tile_n / 16; ++i) {
      const FragA pairs = load_a(rows, 0U, static_cast<u32>(16 * i));
      FOVEA_UNROLL
      for (i32 r = 0; r < 8; ++r) {
        f32& x = s.reg[8 * i + r];
        const f32 bias = half_of_pair(pairs.reg[r / 2], r % 2, kSpec.bias);
        x = kExact && bias == kMinusInfinity ? kMinusInfinity
            : kSpec.transformed              ? x + bias
                                             : isa::fma_rn(x, p.scale, bias);
      }
    }
    hand_back(step);
  }
  // Of a block that the warp's rows do not see.
  FOVEA_INLINE void skip(i32 step) const {
    isa::mbarrier_wait_parity(full(step), parity(step));
    hand_back(step);
  }

 private:
  FOVEA_INLINE void hand_back(i32 step) const {
    isa::bar_warp_sync(0xffffffffU);
    if (isa::laneid() == 0) isa::mbarrier_arrive(empty(step));
  }

  static constexpr u32 kRowBytes = static_cast<u32>(kSpec.bias_tile().panels()) * SmemTile::kRowBytes;  // of one row

  FOVEA_INLINE static u32 slot(i32 step) { return static_cast<u32>(step) % kBuffers; }
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step) / kBuffers % 2U; }
  FOVEA_INLINE SmemPtr tile(i32 step) const { return smem_ + slot(step) * kSpec.bias_tile().bytes(); }
  FOVEA_INLINE SmemPtr barriers() const { return smem_ + kBuffers * kSpec.bias_tile().bytes(); }
  FOVEA_INLINE SmemPtr full(i32 step) const { return barriers() + 16U * slot(step); }
  FOVEA_INLINE SmemPtr empty(i32 step) const { return barriers() + (16U * slot(step) + 8U); }

  SmemPtr smem_;
};

}  // namespace fovea::kernels
