// Bool mask and additive bias as strided views of global memory, read where they are needed and never copied. The key
// order of the tiles (layout/key_order.h) gives each lane eight neighbouring keys of a row at a time: one load of 8
// bytes of mask, or of 16 bytes of a 16-bit bias, where the view allows it, else one load per key.
#pragma once

#include "attention/softmax.h"
#include "attention/visibility.h"

namespace fovea {

// The first key of one row of a view.
FOVEA_INLINE i64 view_row(const ScoreTensor& view, i32 batch, i32 head, i32 query) {
  return batch * view.stride_b + head / view.head_group * view.stride_h + min(query, view.rows - 1) * view.stride_q;
}

// Nonzero bytes of a word, as 0x80 in each.
FOVEA_INLINE u32 nonzero_bytes(u32 word) { return (word | ((word & 0x7f7f7f7fU) + 0x7f7f7f7fU)) & 0x80808080U; }

// The mask of eight keys, a multiple of 8 on, a byte each; keys from `end` on count as hidden and are not read.
FOVEA_INLINE U32x2 mask_bytes(const ScoreTensor& mask, const u8* row, bool vector, i32 key, i32 end) {
  if (vector && key + 8 <= end) return isa::ld_global_nc<U32x2>(row + key);
  u32 word[2] = {0, 0};
  if (!vector) {
    FOVEA_UNROLL
    for (i32 i = 0; i < 8; ++i) {
      if (key + i < end) {
        word[i / 4] |= u32{isa::ld_global_nc<u8>(row + (key + i) * mask.stride_k)} << (8U * static_cast<u32>(i % 4));
      }
    }
  }
  return {word[0], word[1]};
}

// The bias of eight keys as it lies in memory: 16-bit pairs in word[0..3], or fp32 in word[0..7].
struct BiasWords {
  u32 word[8];
};

// `row` is the element index of key 0, `key` a multiple of 8; keys from `end` on get 0.
FOVEA_INLINE BiasWords bias_words(const ScoreTensor& bias, bool vector, bool fp32, i64 row, i32 key, i32 end) {
  BiasWords w{{0, 0, 0, 0, 0, 0, 0, 0}};
  const i64 first = row + key * bias.stride_k;
  const u32* data32 = static_cast<const u32*>(bias.data) + first;
  const u16* data16 = static_cast<const u16*>(bias.data) + first;
  if (vector) {
    if (key >= end) return w;
    if (!fp32) {
      const U32x4 all = isa::ld_global_nc<U32x4>(data16);
      return {{all.x, all.y, all.z, all.w, 0, 0, 0, 0}};
    }
    const U32x4 low = isa::ld_global_nc<U32x4>(data32);
    const U32x4 high = isa::ld_global_nc<U32x4>(data32 + 4);
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }
  FOVEA_UNROLL
  for (i32 i = 0; i < 8; ++i) {
    if (key + i >= end) continue;
    if (fp32) {
      w.word[i] = isa::ld_global_nc<u32>(data32 + i * bias.stride_k);
    } else {
      w.word[i / 2] |= u32{isa::ld_global_nc<u16>(data16 + i * bias.stride_k)} << (16U * static_cast<u32>(i % 2));
    }
  }
  return w;
}

FOVEA_INLINE f32 bias_value(const BiasWords& w, i32 i, Element element) {
  if (element == Element::fp32) return f32_from_bits(w.word[i]);
  const u32 word = w.word[i / 2];
  const f32 as_bf16 = f32_from_bits(i % 2 == 0 ? word << 16U : word & 0xffff0000U);
  return element == Element::bf16 ? as_bf16
                                  : isa::cvt_f32_f16(static_cast<u16>(i % 2 == 0 ? word & 0xffffU : word >> 16U));
}

// Adds the bias to one row's scores, which are in units of log2, and hides what mask or bias hide. `row` counts from
// the sequence's first.
template <FwdSpec kSpec, i32 kKeyTiles>
FOVEA_INLINE void view_row_scores(Array<FragC, kKeyTiles>& s, i32 half, const FwdParams& p, const FwdSequence& seq,
                                  const FwdTile& tile, i32 row, i32 key0) {
  constexpr bool kAny = kSpec.loads == Loads::any;
  const i32 query = query_of<kSpec>(p, row);
  if (kAny && query >= seq.q_used) return;
  const i32 head = head_of<kSpec>(p, tile, row, query);
  const i32 first = key0 + 8 * static_cast<i32>(isa::laneid() & 3U);
  if (kSpec.score == ScoreForm::biased && (!kAny || p.bias.data != nullptr)) {
    const bool vector = !kAny || p.bias.vector != 0;
    const Element element = kAny ? p.bias_element : kSpec.bias;
    const i64 bias_row = view_row(p.bias, seq.batch, head, query);
    FOVEA_UNROLL
    for (i32 tile0 = 0; tile0 < kKeyTiles; tile0 += 4) {
      const BiasWords words =
          bias_words(p.bias, vector, element == Element::fp32, bias_row, first + 8 * tile0, p.bias.keys);
      FOVEA_UNROLL
      for (i32 i = 0; i < 8; ++i) {
        const f32 bias = bias_value(words, i, element);
        f32& x = s[tile0 + i / 2].reg[2 * half + i % 2];
        x = bias == kMinusInfinity ? kMinusInfinity : isa::fma_rn(bias, kLog2E, x);
      }
    }
  }
  if (p.mask.data != nullptr) {
    const bool vector = !kAny || p.mask.vector != 0;
    const u8* mask_row = static_cast<const u8*>(p.mask.data) + view_row(p.mask, seq.batch, head, query);
    FOVEA_UNROLL
    for (i32 tile0 = 0; tile0 < kKeyTiles; tile0 += 4) {
      const U32x2 bytes = mask_bytes(p.mask, mask_row, vector, first + 8 * tile0, p.mask.keys);
      FOVEA_UNROLL
      for (i32 i = 0; i < 8; ++i) {
        const u32 word = i < 4 ? bytes.x : bytes.y;
        if ((word & (0xffU << (8U * static_cast<u32>(i % 4)))) == 0) {
          s[tile0 + i / 2].reg[2 * half + i % 2] = kMinusInfinity;
        }
      }
    }
  }
}

}  // namespace fovea
