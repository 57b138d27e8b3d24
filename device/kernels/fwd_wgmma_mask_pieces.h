// The mask of a block of keys and a tile's rows as the three warps that look at it read it: piece by piece of 16 bytes,
// each thread what it copied itself. MaskVectors: pieces of 16 keys. MaskWords: rows begin anywhere in their pieces.
#pragma once

#include "attention/score_views.h"
#include "kernels/fwd_wgmma_mask_ring.h"
#include "tile/copy_end.h"

namespace fovea::kernels {

// Sixteen mask bytes as four bits for each lane q of a quad: keys 2q, 2q + 1, 2q + 8, 2q + 9.
FOVEA_INLINE u16 quad_bits(const U32x4& bytes) {
  // The bits of keys 0 to 3 come as 7, 15, 23 and 31; the multiplier moves them to 26, 27, 30 and 31.
  const auto gather = [](u32 word) { return nonzero_bytes(word) * 0x81081U; };
  return static_cast<u16>((gather(bytes.x) >> 26U & 0x33U) | (gather(bytes.z) >> 24U & 0xccU) |
                          (gather(bytes.y) >> 18U & 0x3300U) | (gather(bytes.w) >> 16U & 0xcc00U));
}
// Sixteen mask bytes as a bit for each, in order. kExact: any bytes; otherwise each is 0 or 1.
template <bool kExact>
FOVEA_INLINE u32 bits_in_order(const U32x4& bytes) {
  const auto gather = [](u32 word) { return kExact ? nonzero_bytes(word) * 0x204081U : word * 0x10204080U; };
  const auto append = [](u32 bits, u32 gathered) { return bits << 4U | gathered >> 28U; };
  const u32 high = append(gather(bytes.w) >> 28U, gather(bytes.z));
  return append(append(high, gather(bytes.y)), gather(bytes.x));
}
// From the order of keys to that of quad_bits().
FOVEA_INLINE u16 quad_order(u32 bits) {
  u32 pairs = (bits & 0xffU) | (bits & 0xff00U) << 8U;
  pairs = (pairs | pairs << 4U) & 0x0f0f0f0fU;
  pairs = (pairs | pairs << 2U) & 0x33333333U;
  return static_cast<u16>(pairs | pairs >> 14U);
}

// Rows at multiples of 16 bytes. A thread reads one piece of every kRowStep-th row.
template <FwdSpec kSpec>
class MaskVectors {
  using Ring = MaskRing<kSpec>;
  static constexpr i32 kThreads = static_cast<i32>(Ring::kThreads);
  static constexpr i32 kRowPieces = kSpec.tile_n / 16;
  static constexpr i32 kRowStep = kThreads / kRowPieces;
  static constexpr i32 kPieces = ceil_div(kSpec.tile_m * kRowPieces, kThreads);
  static_assert(kPieces * kThreads <= kSpec.mask_pieces());

 public:
  FOVEA_INLINE MaskVectors(const FwdParams& p, const WgmmaWork& work, i32 thread) : p_(p), thread_(thread) {
    const i32 queries = min(min(work.seq.q_used, p.mask.rows), work.tile.row0 + kSpec.tile_m);
    const i32 query = min(work.tile.row0 + thread / kRowPieces, queries - 1);
    const i64 base = view_base<kSpec>(p.mask, work.tile);
    first_ = static_cast<const u8*>(p.mask.data) + view_row<kSpec>(p.mask, base, work.tile, work.tile.head_q, query);
    more_ = queries - 1 - query;
  }

  // Begins to bring the mask of a block. Rows that are no queries, and keys past the mask, which position rules hide,
  // take others' place.
  FOVEA_INLINE void copy(const Ring& ring, i32 buffer, i32 block) const {
    const i32 key = min(block * kSpec.tile_n + 16 * (thread_ % kRowPieces), p_.mask.keys - 16);
    const i64 step = kRowStep * p_.mask.stride_q;
    const u8* piece = first_ + key;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) {
      if (i > 0 && alike()) break;
      if (i > 0 && i * kRowStep <= more_) piece += step;
      isa::cp_async_cg(ring.piece(buffer, thread_, i), piece, 16U);
    }
  }
  FOVEA_INLINE void read(const Ring& ring, i32 buffer) {
    bytes_[0] = isa::ld_shared<U32x4>(ring.piece(buffer, thread_, 0));
    FOVEA_UNROLL
    for (i32 i = 1; i < kPieces; ++i) {
      bytes_[i] = alike() ? bytes_[0] : isa::ld_shared<U32x4>(ring.piece(buffer, thread_, i));
    }
  }
  FOVEA_INLINE bool sees_some() const {
    u32 any = 0;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) any |= bytes_[i].x | bytes_[i].y | bytes_[i].z | bytes_[i].w;
    return any != 0;
  }
  FOVEA_INLINE bool sees_every() const {
    u32 all = ~0U;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) all &= bytes_[i].x & bytes_[i].y & bytes_[i].z & bytes_[i].w;
    return (all & kAllSeen) == kAllSeen;
  }
  FOVEA_INLINE void write_bits(const Ring& ring, i32 step) const {
    const i32 pieces = alike() ? kRowPieces : kSpec.tile_m * kRowPieces;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) {
      const i32 piece = thread_ + i * kThreads;
      if (piece >= pieces) continue;
      isa::st_shared<u16>(ring.row_bits(step, 0) + 2U * static_cast<u32>(piece), quad_bits(bytes_[i]));
    }
  }

 private:
  // Whether all rows have the same mask.
  FOVEA_INLINE bool alike() const { return p_.mask.stride_q == 0; }

  const FwdParams& p_;
  i32 thread_;
  const u8* first_;  // key 0 of the thread's first row
  i32 more_;         // rows of the tile that are queries, behind that one
  Array<U32x4, kPieces> bytes_;
};

// Rows that begin anywhere: a row's keys of a block lie in one piece more, of which the first begins before the block
// and the last ends behind it. Pieces become bits in order, and neighbours are shifted together where bits are wanted.
// No byte behind a row is read; those before it, in its first piece, count as nobody's.
template <FwdSpec kSpec>
class MaskWords {
  using Ring = MaskRing<kSpec>;
  static constexpr i32 kThreads = static_cast<i32>(Ring::kThreads);
  static constexpr i32 kWanted = kSpec.tile_n / 16;  // words of 16 bits for the consumers, of a row
  static constexpr i32 kRowPieces = kWanted + 1;
  static constexpr i32 kPieces = ceil_div(kSpec.tile_m * kRowPieces, kThreads);
  static_assert(kPieces * kThreads == kSpec.mask_pieces());

 public:
  // The thread's number comes from a shuffle, so that its pieces' places are found for each tile: ptxas would keep them
  // in registers that these warps do not have.
  FOVEA_INLINE MaskWords(const FwdParams& p, const WgmmaWork& work, i32 thread)
      : p_(p), thread_(static_cast<i32>(isa::shfl_idx(static_cast<u32>(thread), isa::laneid()))) {
    last_ = last_row_of<kSpec>(p.mask, work);
    first_ = first_row_of<kSpec, 1>(p.mask, work);
    Place place = first_place();
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i, place = next(place)) {
      pieces_[i] = piece_at(place);
      const u32 before = (1U << lead(place.row)) - 1U;
      own_[i] = place.at == 0 ? ~before & 0xffffU : (place.at == kRowPieces - 1 ? before : 0xffffU);
    }
  }

  FOVEA_INLINE void copy(const Ring& ring, i32 buffer, i32 block) const {
    const i32 key0 = block * kSpec.tile_n;
    if (key0 + 16 * kRowPieces > p_.mask.keys) return copy_end(ring, buffer, key0);
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) {
      if (idle(i)) break;
      isa::cp_async_cg(ring.piece(buffer, thread_, i), pieces_[i] + key0, 16U);
    }
  }
  FOVEA_INLINE void read(const Ring& ring, i32 buffer) {
    if ((read_bits<false>(ring, buffer) & ~kAllSeen) != 0) read_bits<true>(ring, buffer);
  }
  FOVEA_INLINE bool sees_some() const { return some_ != 0; }
  FOVEA_INLINE bool sees_every() const { return hidden_ == 0; }

  // Behind a barrier that all came to after they had read.
  FOVEA_INLINE void write_bits(const Ring& ring, i32 step) const {
    const i32 wanted = alike() ? kWanted : kSpec.tile_m * kWanted;
    FOVEA_ROLLED
    for (i32 word = thread_; word < wanted; word += kThreads) {
      const i32 row = word / kWanted;
      const SmemPtr low = ring.exchange(row * kRowPieces + word % kWanted);
      const u32 both = u32{isa::ld_shared<u16>(low)} | u32{isa::ld_shared<u16>(low + 2U)} << 16U;
      const u32 bits = both >> lead(min(row, last_)) & 0xffffU;
      isa::st_shared<u16>(ring.row_bits(step, 0) + 2U * static_cast<u32>(word), quad_order(bits));
    }
    isa::bar_sync(Ring::kBarrier, Ring::kThreads);  // before the next block's bits are exchanged
  }

 private:
  // A piece: row of the tile, number in the row.
  struct Place {
    i32 row, at;
  };
  FOVEA_INLINE Place first_place() const { return {thread_ / kRowPieces, thread_ % kRowPieces}; }
  FOVEA_INLINE static Place next(Place place) {
    place.row += kThreads / kRowPieces;
    place.at += kThreads % kRowPieces;
    if (place.at < kRowPieces) return place;
    return {place.row + 1, place.at - kRowPieces};
  }

  FOVEA_INLINE bool alike() const { return p_.mask.stride_q == 0; }
  // Whether the thread's i-th piece, and all behind it, are not there: one row alone is read where all are alike.
  FOVEA_INLINE bool idle(i32 i) const { return alike() && (i > 0 || thread_ >= kRowPieces); }

  // Bits of the thread's pieces; returns those of any word of them. kExact: see bits_in_order().
  template <bool kExact>
  FOVEA_INLINE u32 read_bits(const Ring& ring, i32 buffer) {
    u32 any = some_ = hidden_ = 0;
    FOVEA_UNROLL
    for (i32 i = 0; i < kPieces; ++i) {
      if (idle(i)) break;
      const U32x4 bytes = isa::ld_shared<U32x4>(ring.piece(buffer, thread_, i));
      any |= bytes.x | bytes.y | bytes.z | bytes.w;
      const u32 bits = bits_in_order<kExact>(bytes);
      isa::st_shared<u16>(ring.exchange(thread_ + i * kThreads), static_cast<u16>(bits));
      some_ |= bits & own_[i];
      hidden_ |= ~bits & own_[i];
    }
    return any;
  }

  // Bytes of a row's first piece that lie before the row. Rows that are no queries take the last one's place.
  FOVEA_INLINE u32 lead(i32 row) const {
    const u32 ahead = static_cast<u32>(min(row, last_)) * static_cast<u32>(p_.mask.stride_q);
    return (static_cast<u32>(address_of(first_)) + ahead) & 15U;
  }
  // The piece as it lies in block 0.
  FOVEA_INLINE const u8* piece_at(Place place) const {
    return first_ + min(place.row, last_) * p_.mask.stride_q + (16 * place.at - static_cast<i32>(lead(place.row)));
  }

  // Of the block at key0, in which rows end: what lies behind them is 0.
  FOVEA_INLINE void copy_end(const Ring& ring, i32 buffer, i32 key0) const {
    Place place = first_place();
    FOVEA_ROLLED
    for (i32 i = 0; i < kPieces; ++i, place = next(place)) {
      if (idle(i)) break;
      const i32 bytes = p_.mask.keys - (key0 + 16 * place.at - static_cast<i32>(lead(place.row)));
      copy_row_end(ring.piece(buffer, thread_, i), piece_at(place) + key0, bytes);
    }
  }

  const FwdParams& p_;
  i32 thread_;
  const u8* first_;  // key 0 of the tile's first row
  i32 last_;         // the tile's last row that is a query
  Array<const u8*, kPieces> pieces_;
  Array<u32, kPieces> own_;  // bits of the block's own keys
  u32 some_, hidden_;        // of those
};

}  // namespace fovea::kernels
