// The end of a forward tile: join the sink, normalise, write lse and the output. 16-bit outputs go through shared
// memory, so that global stores are whole 16-byte pieces of rows; fp32 outputs are stored from registers.
#pragma once

#include "attention/schedule.h"
#include "attention/softmax.h"
#include "layout/smem_tile.h"
#include "tile/mma.h"
#include "tile/store_matrix.h"

namespace fovea {

// What a row's accumulator is multiplied by, and its lse.
struct RowResult {
  f32 factor, lse;
};

inline constexpr RowResult kEmptyRow{0.0F, kMinusInfinity};

// `max`: the largest score, which weights are taken against; `sum` of the weights, over the whole row. A row that sees
// keys and has no weights, as its maximum is far (see is_far), gets a factor of NaN: its tile runs again. So does one
// whose weights have no maximum, or grew beyond fp32. A score of +Inf makes lse NaN.
FOVEA_INLINE RowResult finish_row(f32 max, f32 sum) {
  const f32 finite = isa::fma_rn(isa::lg2_approx_ftz(sum), kLn2, max);
  const f32 lse = max == -kMinusInfinity ? kQuietNaN : finite;
  const f32 none = max == kMinusInfinity ? 0.0F : kQuietNaN;
  const bool lost = max == kMinusInfinity || sum == -kMinusInfinity;
  const f32 some = lost ? kQuietNaN : isa::rcp_approx_ftz(sum);
  return {sum == 0.0F ? none : some, sum == 0.0F ? kMinusInfinity : lse};
}

// With a sink, which weighs like one more key without a value; lse is that of the keys alone.
FOVEA_INLINE RowResult finish_row(f32 max, f32 sum, f32 sink) {
  const RowResult keys = finish_row(max, sum);
  const f32 share = isa::rcp_approx_ftz(1.0F + isa::ex2_approx_ftz((sink - keys.lse) * kLog2E));
  return {sum == 0.0F ? keys.factor : keys.factor * share, keys.lse};
}

// Of a row's head.
template <FwdSpec kSpec>
FOVEA_INLINE f32 sink_of(const FwdParams& p, const FwdTile& tile, i32 row) {
  const i32 head = head_of<kSpec>(p, tile, row, query_of<kSpec>(p, row));
  return isa::ld_global<f32>(p.sink + head * p.sink_stride);
}

// One element of an output; `at` counts elements.
FOVEA_INLINE void store_element(void* out, i64 at, Element element, f32 value) {
  if (element == Element::fp32) {
    isa::st_global<f32>(static_cast<f32*>(out) + at, value);
  } else {
    isa::st_global<u16>(static_cast<u16*>(out) + at,
                        element == Element::bf16 ? isa::cvt_rn_bf16(value) : isa::cvt_rn_f16(value));
  }
}

// One 16-row block of a warp's output, narrowed, into the output tile. `view` starts at the block's first row.
template <FwdSpec kSpec, i32 kOutTiles>
FOVEA_INLINE void stage_block(const LdmatrixView<kSpec.o_tile(), LdmatrixPattern::a_row_major>& view, u32 row,
                              const Array<FragC, kOutTiles>& o) {
  FOVEA_UNROLL
  for (i32 n = 0; n < kOutTiles; n += 2) {
    store_matrix<kSpec.store>(view, row, static_cast<u32>(8 * n), as_a_operand<kSpec.element>(o[n], o[n + 1]));
  }
}

// Where a row of a tile goes: its query and head, and its first element in out.
struct RowPlace {
  i32 query, head;
  i64 out;  // in elements from out.data
};

template <FwdSpec kSpec>
FOVEA_INLINE RowPlace row_place(const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, i32 row) {
  RowPlace place;
  place.query = query_of<kSpec>(p, row);
  place.head = head_of<kSpec>(p, tile, row, place.query);
  place.out = seq.q_batch * p.out.stride_b + place.head * p.out.stride_h +
              (static_cast<i64>(seq.q_begin) + place.query) * p.out.stride_s + tile.split * p.out_split;
  return place;
}

FOVEA_INLINE f32* lse_of(const FwdParams& p, const FwdSequence& seq, const FwdTile& tile, const RowPlace& place) {
  return p.lse + seq.q_batch * p.lse_b + place.head * p.lse_h +
         (static_cast<i64>(seq.q_begin) + place.query) * p.lse_s + tile.split * p.lse_split;
}

// Up to 16 bytes of a row from shared memory to global memory, in pieces that the row's alignment allows.
FOVEA_INLINE void store_piece(u8* target, SmemPtr source, i32 bytes, i32 align) {
  if (align >= 4 && bytes == 16) {
    for (i32 at = 0; at < 16; at += 4) {
      isa::st_global<u32>(target + at, isa::ld_shared<u32>(source + static_cast<u32>(at)));
    }
  } else {
    FOVEA_ROLLED
    for (i32 at = 0; at < bytes; at += 2) {
      isa::st_global<u16>(target + at, isa::ld_shared<u16>(source + static_cast<u32>(at)));
    }
  }
}

// 16-bit output tile in shared memory -> global rows of the sequence.
template <FwdSpec kSpec>
FOVEA_INLINE void store_rows(SmemPtr smem, const FwdParams& p, const FwdSequence& seq, const FwdTile& tile) {
  constexpr i32 kChunks = kSpec.head_dim_v / 8;
  constexpr i32 kStores = kSpec.tile_m * kChunks;
  const i32 thread = static_cast<i32>(isa::tid_x());
  const i32 cols = kSpec.loads == Loads::any ? p.head_dim_v : kSpec.head_dim_v;
  const i64 first_row = row_place<kSpec>(p, seq, tile, tile.row0).out;
  const auto store = [&]<bool kWhole>(i32 first) {
    const i32 index = first + thread;
    const i32 row = index / kChunks;
    const i32 chunk = index % kChunks;
    if (index >= kStores) return;
    const i32 query = query_of<kSpec>(p, tile.row0 + row);
    if (query >= seq.q_rows || 8 * chunk >= cols) return;
    i64 element = first_row + row * p.out.stride_s;
    if (kSpec.rows == Rows::group) element = row_place<kSpec>(p, seq, tile, tile.row0 + row).out;
    const SmemPtr source = smem + kSpec.o_tile().offset(static_cast<u32>(row), static_cast<u32>(8 * chunk));
    u8* target = static_cast<u8*>(p.out.data) + 2 * element + 16 * chunk;
    if constexpr (kWhole) {
      isa::st_global<U32x4>(target, isa::ld_shared<U32x4>(source));
    } else {
      store_piece(target, source, 2 * min(8, cols - 8 * chunk), p.align_out);
    }
  };
  if constexpr (kSpec.loads != Loads::any) {
    FOVEA_UNROLL
    for (i32 first = 0; first < kStores; first += kSpec.threads()) store.template operator()<true>(first);
  } else if (p.align_out >= 16 && cols % 8 == 0) {  // rare, and large when unrolled
    FOVEA_ROLLED
    for (i32 first = 0; first < kStores; first += kSpec.threads()) store.template operator()<true>(first);
  } else {
    FOVEA_ROLLED
    for (i32 first = 0; first < kStores; first += kSpec.threads()) store.template operator()<false>(first);
  }
}

// fp32 output of one row, straight from the accumulators: two neighbouring columns per lane and n8 tile.
template <FwdSpec kSpec, i32 kOutTiles>
FOVEA_INLINE void store_row_f32(f32* row, const Array<FragC, kOutTiles>& o, i32 half, i32 cols) {
  const i32 first = 2 * static_cast<i32>(isa::laneid() & 3U);
  // A number, for of a pointer the compiler finds every element anew, by six instructions.
  const u64 address = address_of(row + first);
  cols -= first;
  FOVEA_UNROLL
  for (i32 n = 0; n < kOutTiles; ++n) {
    f32* pair = reinterpret_cast<f32*>(address + static_cast<u64>(32 * n));
    const f32 x = o[n].reg[2 * half];
    const f32 y = o[n].reg[2 * half + 1];
    if constexpr (kSpec.loads != Loads::any) {
      isa::st_global<U32x2>(pair, {f32_bits(x), f32_bits(y)});
    } else {
      if (cols > 8 * n) isa::st_global<f32>(pair, x);
      if (cols > 8 * n + 1) isa::st_global<f32>(pair + 1, y);
    }
  }
}

}  // namespace fovea
