// An additive bias of 16 bits in fwd_wgmma: TMA brings that of a block of keys beside its K, and the consumers read it
// by ldmatrix, which delivers the columns of a wgmma accumulator: its narrowed registers are an A operand's. A bias
// that is the same for all rows is one row in shared memory, which all of them read. One that TMA cannot bring is
// copied: fwd_wgmma_bias_copies.h.
#pragma once

#include "attention/score_views.h"
#include "kernels/fwd_wgmma_requests.h"
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
  static constexpr u32 kPitch = static_cast<u32>(kSpec.bias_pitch());  // of copied rows
  static constexpr u32 kTileBytes = static_cast<u32>(kSpec.tile_m) * kPitch;

 public:
  // A buffer has barriers for each consumer's rows where warps copy them into the only one, so that one consumer need
  // not wait for the other; else for the whole tile.
  static constexpr u32 kParts = kSpec.copies_bias() && kBuffers == 1U ? kConsumers : 1U;

 private:
  static constexpr u32 kRequests = 64;
  using Tile = LdmatrixView<kSpec.bias_tile(), LdmatrixPattern::a_row_major>;
  static_assert(16U * kBuffers * kParts <= kRequests && kRequests + TileRequests::kBytes <= kBiasHeader);

 public:
  FOVEA_INLINE BiasRing() : smem_(SmemPtr{isa::smem_base()} + kSmem.bias) {}

  FOVEA_INLINE void init() const {
    FOVEA_UNROLL
    for (u32 i = 0; i < kBuffers * kParts; ++i) {
      const auto buffer = static_cast<i32>(i / kParts);
      isa::mbarrier_init(full(buffer, i % kParts), kSpec.copies_bias() ? static_cast<u32>(kHelperThreads) : 1U);
      isa::mbarrier_init(empty(buffer, i % kParts), (kSpec.copies_bias() ? 128U : 4U) * kConsumers / kParts);
    }
    if constexpr (kSpec.copies_bias()) requests().init();
  }
  // For tiles whose bias is copied, where no mask is looked at.
  FOVEA_INLINE TileRequests requests() const { return TileRequests(barriers() + kRequests); }

  // The producer's side, one thread: waits for a step's buffer and begins to bring the bias of the block at key0. Rows
  // and keys past the view's extents become zero; position rules hide those keys.
  FOVEA_INLINE void load(i32 step, const FwdWgmmaParams& p, const WgmmaWork& work, i32 key0) const {
    const ScoreTensor& view = p.fwd.bias;
    const bool alike = view.stride_q == 0;
    const i32 head = view.stride_h == 0 ? 0 : view_head(view, work.tile, work.tile.head_q);
    const i32 batch = view.stride_b == 0 ? 0 : work.tile.batch;
    isa::mbarrier_wait_parity(empty(step, 0), parity(step) ^ 1U);
    isa::mbarrier_arrive_expect_tx(full(step, 0), alike ? kRowBytes : kSpec.bias_tile().bytes());
    FOVEA_UNROLL
    for (i32 panel = 0; panel < kSpec.bias_tile().panels(); ++panel) {
      isa::tma_load_4d(tile(step) + static_cast<u32>(panel) * kSpec.bias_tile().panel_bytes(), &p.bias, full(step, 0),
                       key0 + 64 * panel, alike ? 0 : work.tile.row0, head, batch);
    }
  }

  // The copying side, all kHelperThreads threads. part: a consumer's rows.
  FOVEA_INLINE void await_empty(i32 step, u32 part) const {
    isa::mbarrier_wait_parity(empty(step, part), parity(step) ^ 1U);
  }
  FOVEA_INLINE SmemPtr piece(i32 step, i32 row, i32 at) const {
    return tile(step) + static_cast<u32>(row) * kPitch + static_cast<u32>(16 * at);
  }
  FOVEA_INLINE void arrive(i32 step, u32 part) const { isa::mbarrier_arrive(full(step, part)); }
  FOVEA_INLINE void arrive_behind_copies(i32 step, u32 part) const {
    isa::cp_async_mbarrier_arrive_noinc(full(step, part));
  }

  // The consumers' side, of a tile whose bias is copied: bytes in front of the lane's row in its first piece, in every
  // block. Rows 8 apart have the same.
  FOVEA_INLINE void find_lead(const FwdParams& p, const WgmmaWork& work, i32 row) {
    const i64 base = view_base<kSpec>(p.bias, work.tile);
    const i32 query = min(work.tile.row0 + row, max(work.seq.q_used, 1) - 1);
    const auto element = static_cast<u32>(view_row<kSpec>(p.bias, base, work.tile, work.tile.head_q, query));
    const auto bytes = static_cast<u32>(kSpec.bias_element_bytes());
    lead_ = (static_cast<u32>(address_of(p.bias.data)) + bytes * element) & 15U;
  }

  // The consumers' side, a whole warp of consumer `group`: products (kSpec.transformed: scores but for the bias) ->
  // scores. kExact: a bias of -inf hides a score that is NaN or +Inf as well; otherwise their sum is NaN, which the
  // tile's sums show.
  template <bool kExact>
  FOVEA_INLINE void add(i32 step, u32 group, WgmmaAcc<kSpec.tile_n>& s, const FwdParams& p) const {
    const u32 row = 64U * group + isa::tid_x() / 32U % 4U * 16U;
    isa::mbarrier_wait_parity(full(step, group % kParts), parity(step));
    const bool alike = p.bias.stride_q == 0;
    Tile rows(tile(step) + row * SmemTile::kRowBytes);
    if (alike) rows.lane_base = tile(step).address + (lane_chunk(LdmatrixPattern::a_row_major, isa::laneid()) << 4U);
    const SmemPtr copied = tile(step) + (alike ? group % kParts * 64U : row + isa::laneid() / 4U) * kPitch;
    FOVEA_UNROLL
    for (i32 i = 0; i < kSpec.tile_n / 16; ++i) {
      Array<f32, 8> bias;
      if constexpr (kSpec.copies_bias()) {
        FOVEA_UNROLL
        for (u32 r = 0; r < 8; r += 2) {
          const SmemPtr at = copied + (alike ? 0U : r / 2U % 2U * 8U * kPitch);
          const Array<f32, 2> two = copied_pair(at, lead_, static_cast<u32>(2 * i) + r / 4U);
          bias[static_cast<i32>(r)] = two[0], bias[static_cast<i32>(r) + 1] = two[1];
        }
      } else {
        const FragA pairs = load_a(rows, 0U, static_cast<u32>(16 * i));
        FOVEA_UNROLL
        for (i32 r = 0; r < 8; ++r) bias[r] = half_of_pair(pairs.reg[r / 2], r % 2, kSpec.bias);
      }
      FOVEA_UNROLL
      for (i32 r = 0; r < 8; ++r) {
        f32& x = s.reg[8 * i + r];
        x = kExact && bias[r] == kMinusInfinity ? kMinusInfinity
            : kSpec.transformed                 ? x + bias[r]
                                                : isa::fma_rn(x, p.scale, bias[r]);
      }
    }
    hand_back(step, group);
  }
  // Of a block that the warp's rows do not see.
  FOVEA_INLINE void skip(i32 step, u32 group) const {
    isa::mbarrier_wait_parity(full(step, group % kParts), parity(step));
    hand_back(step, group);
  }

 private:
  FOVEA_INLINE void hand_back(i32 step, u32 group) const {
    if constexpr (kSpec.copies_bias()) {  // every lane: racecheck sees no order behind a warp's barrier
      isa::mbarrier_arrive(empty(step, group % kParts));
    } else {
      isa::bar_warp_sync(0xffffffffU);
      if (isa::laneid() == 0) isa::mbarrier_arrive(empty(step, group % kParts));
    }
  }

  // The lane's two columns of eight, of a copied row whose bytes in front of it are `lead`.
  FOVEA_INLINE static Array<f32, 2> copied_pair(SmemPtr row, u32 lead, u32 eight) {
    const u32 lane = isa::laneid() & 3U;
    if constexpr (kSpec.bias == Element::fp32) {
      const SmemPtr at = row + (lead + 8U * lane) + 32U * eight;
      return {{isa::ld_shared<f32>(at), isa::ld_shared<f32>(at + 4U)}};
    } else {
      const SmemPtr at = row + ((lead & ~3U) + 4U * lane) + 16U * eight;
      const u64 words = u64{isa::ld_shared<u32>(at + 4U)} << 32U | isa::ld_shared<u32>(at);
      const u32 pair = static_cast<u32>(words >> 8U * (lead & 3U));
      return {{half_of_pair(pair, 0, kSpec.bias), half_of_pair(pair, 1, kSpec.bias)}};
    }
  }

  static constexpr u32 kRowBytes = static_cast<u32>(kSpec.bias_tile().panels()) * SmemTile::kRowBytes;  // of one row

  FOVEA_INLINE static u32 slot(i32 step) { return static_cast<u32>(step) % kBuffers; }
  FOVEA_INLINE static u32 parity(i32 step) { return static_cast<u32>(step) / kBuffers % 2U; }
  FOVEA_INLINE SmemPtr tile(i32 step) const { return smem_ + slot(step) * kTileBytes; }
  FOVEA_INLINE SmemPtr barriers() const { return smem_ + kBuffers * kTileBytes; }
  FOVEA_INLINE SmemPtr full(i32 step, u32 part) const { return barriers() + 16U * (slot(step) * kParts + part); }
  FOVEA_INLINE SmemPtr empty(i32 step, u32 part) const { return full(step, part) + 8U; }

  SmemPtr smem_;
  u32 lead_ = 0;
};

}  // namespace fovea::kernels
