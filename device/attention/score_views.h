// Bool mask and additive bias as strided views of global memory, read where they are needed and never copied. The key
// order of the tiles (layout/key_order.h) gives each lane eight neighbouring keys of a row at a time: one load of 8
// bytes of mask, or of 16 bytes of a 16-bit bias, where the view allows it, else one per word, or per key.
#pragma once

#include "attention/softmax.h"
#include "attention/visibility.h"

namespace fovea {

// The head of a view that a head of the tile reads: head / head_group, which is 1 or the heads of a group.
FOVEA_INLINE i32 view_head(const ScoreTensor& view, const FwdTile& tile, i32 head) {
  return view.head_group == 1 ? head : tile.head_kv;
}

// Where a tile's rows of a view begin: at its batch entry and, with Rows::head, at its head.
template <FwdSpec kSpec>
FOVEA_INLINE i64 view_base(const ScoreTensor& view, const FwdTile& tile) {
  i64 base = tile.batch * view.stride_b;
  if (kSpec.rows == Rows::head) base += view_head(view, tile, tile.head_q) * view.stride_h;
  return base;
}

// The first key of one row of a view, of a head of the tile; rows past its extent take the last one's.
template <FwdSpec kSpec>
FOVEA_INLINE i64 view_row(const ScoreTensor& view, i64 base, const FwdTile& tile, i32 head, i32 query) {
  if (kSpec.rows == Rows::group) base += view_head(view, tile, head) * view.stride_h;
  return base + min(query, view.rows - 1) * view.stride_q;
}

// One word of a mask of which all keys are seen. Bytes that are even and not 0 are seen as well, but nobody hurries for
// them: a block that has some is looked at element by element.
inline constexpr u32 kAllSeen = 0x01010101U;

// Nonzero bytes of a word, as 0x80 in each.
FOVEA_INLINE u32 nonzero_bytes(u32 word) { return (word | ((word & 0x7f7f7f7fU) + 0x7f7f7f7fU)) & 0x80808080U; }

// A row of a view (ViewReads::words) that begins anywhere, by aligned words. The first may begin up to 3 bytes before
// the row; of one that ends behind it only the row's elements are read, by read_tail(). kBytes: of an element.
template <i32 kBytes>
class WordRow {
  static constexpr i32 kPerWord = 4 / kBytes;

 public:
  FOVEA_INLINE WordRow(const u8* row, i32 keys) {
    const u32 offset = static_cast<u32>(address_of(row)) & 3U;
    words_ = row - offset;
    shift_ = 8U * offset;
    const i32 elements = keys + static_cast<i32>(offset) / kBytes;
    whole_ = elements / kPerWord;
    rest_ = elements % kPerWord;
  }

  // Before keys are read that lie in the row's last words.
  FOVEA_INLINE void read_tail() {
    FOVEA_UNROLL
    for (i32 i = 0; i < kPerWord - 1; ++i) {
      if (i >= rest_) continue;
      const u8* element = words_ + 4 * static_cast<i64>(whole_) + kBytes * i;
      u32 bits = 0;
      if constexpr (kBytes == 1) bits = isa::ld_global_nc<u8>(element);
      if constexpr (kBytes == 2) bits = isa::ld_global_nc<u16>(element);
      tail_ |= bits << static_cast<u32>(8 * kBytes * i);
    }
  }

  // kCount words from `key` on, a multiple of 4; elements past the row's end are 0.
  template <i32 kCount>
  FOVEA_INLINE Array<u32, kCount> read(i32 key) const {
    const i32 first = key / kPerWord;
    Array<u32, kCount> words;
    u32 low = word(first);
    FOVEA_UNROLL
    for (i32 i = 0; i < kCount; ++i) {
      const u32 high = kBytes < 4 || i + 1 < kCount ? word(first + i + 1) : 0U;
      words[i] = static_cast<u32>((u64{high} << 32U | low) >> shift_);
      low = high;
    }
    return words;
  }

 private:
  FOVEA_INLINE u32 word(i32 i) const {
    if (i < whole_) return isa::ld_global_nc<u32>(words_ + 4 * static_cast<i64>(i));
    return i == whole_ ? tail_ : 0U;
  }

  const u8* words_;
  u32 shift_;
  i32 whole_, rest_;  // words that end in the row, elements behind them
  u32 tail_ = 0;
};

// Whether keys before `end` may lie in the last words of a view's rows.
FOVEA_INLINE bool near_row_end(const ScoreTensor& view, i32 end) { return end > view.keys - 4; }

// Calls use.operator()<reads>() with the one that holds: one branch for all reads of a row, which are under way
// together.
template <FwdSpec kSpec, class Use>
FOVEA_INLINE void read_by(ViewReads reads, const Use& use) {
  constexpr bool kAny = kSpec.loads == Loads::any;
  if constexpr (kAny || kSpec.reads == ViewReads::vectors) {
    if (!kAny || reads == ViewReads::vectors) {
      use.template operator()<ViewReads::vectors>();
      return;
    }
  }
  if constexpr (kAny || kSpec.reads == ViewReads::words) {
    if (reads == ViewReads::words) {
      use.template operator()<ViewReads::words>();
    } else {
      use.template operator()<ViewReads::elements>();
    }
  }
}

// How keys of a view are read, as far as the spec leaves it open.
template <FwdSpec kSpec>
FOVEA_INLINE ViewReads reads_of(const ScoreTensor& view) {
  return kSpec.loads == Loads::any ? view.reads : kSpec.reads;
}

// The mask of eight keys, a multiple of 8 on, a byte each. vectors: keys past the extent take the last ones' place, so
// that no load hangs on a branch; position rules hide them. elements: they count as hidden and are not read.
template <ViewReads kReads>
FOVEA_INLINE U32x2 mask_bytes(const ScoreTensor& mask, const u8* row, i32 key) {
  static_assert(kReads != ViewReads::words, "see WordRow");
  if constexpr (kReads == ViewReads::vectors) return isa::ld_global_nc<U32x2>(row + min(key, mask.keys - 8));
  u32 word[2] = {0, 0};
  FOVEA_UNROLL
  for (i32 i = 0; i < 8; ++i) {
    if (key + i >= mask.keys) continue;
    word[i / 4] |= u32{isa::ld_global_nc<u8>(row + (key + i) * mask.stride_k)} << (8U * static_cast<u32>(i % 4));
  }
  return {word[0], word[1]};
}

// The bias of eight keys as it lies in memory: 16-bit pairs in word[0..3], or fp32 in word[0..7].
struct BiasWords {
  u32 word[8];
};

// `row` is the element index of key 0, `key` a multiple of 8. Keys past the extent as in mask_bytes; elements: they get
// 0.
template <ViewReads kReads>
FOVEA_INLINE BiasWords bias_words(const ScoreTensor& bias, bool fp32, i64 row, i32 key) {
  static_assert(kReads != ViewReads::words, "see WordRow");
  if constexpr (kReads == ViewReads::vectors) {
    const i64 first = row + min(key, bias.keys - 8);
    if (!fp32) {
      const U32x4 all = isa::ld_global_nc<U32x4>(static_cast<const u16*>(bias.data) + first);
      return {{all.x, all.y, all.z, all.w, 0, 0, 0, 0}};
    }
    const U32x4 low = isa::ld_global_nc<U32x4>(static_cast<const u32*>(bias.data) + first);
    const U32x4 high = isa::ld_global_nc<U32x4>(static_cast<const u32*>(bias.data) + first + 4);
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  }
  BiasWords w{{0, 0, 0, 0, 0, 0, 0, 0}};
  FOVEA_UNROLL
  for (i32 i = 0; i < 8; ++i) {
    if (key + i >= bias.keys) continue;
    const i64 element = row + (key + i) * bias.stride_k;
    if (fp32) {
      w.word[i] = isa::ld_global_nc<u32>(static_cast<const u32*>(bias.data) + element);
    } else {
      w.word[i / 2] |= u32{isa::ld_global_nc<u16>(static_cast<const u16*>(bias.data) + element)}
                       << (16U * static_cast<u32>(i % 2));
    }
  }
  return w;
}

// Element i, 0 or 1, of two neighbours of 16 bits.
FOVEA_INLINE f32 half_of_pair(u32 pair, i32 i, Element element) {
  if (element == Element::bf16) return f32_from_bits(i == 0 ? pair << 16U : pair & 0xffff0000U);
  return isa::cvt_f32_f16(static_cast<u16>(i == 0 ? pair & 0xffffU : pair >> 16U));
}

FOVEA_INLINE f32 bias_value(const BiasWords& w, i32 i, Element element) {
  if (element == Element::fp32) return f32_from_bits(w.word[i]);
  return half_of_pair(w.word[i / 2], i % 2, element);
}

// Family::mma: whether products take the scale where a bias joins them; otherwise they are scores by then, as with
// Loads::any, and where they are capped.
template <FwdSpec kSpec>
FOVEA_INLINE bool bias_takes_scale(const FwdParams& p) {
  return kSpec.loads != Loads::any && !(kSpec.open_views() && p.softcap != 0.0F);
}

// The bias of one row and key block as a lane needs it: fetched ahead of the scores, applied to them.
template <FwdSpec kSpec>
class RowBias {
  static constexpr bool kAny = kSpec.loads == Loads::any;
  static constexpr i32 kGroups = kSpec.tile_n / 32;

 public:
  FOVEA_INLINE void fetch(const FwdParams& p, i64 row, i32 key0) {
    const i32 first = key0 + lane_first_key(isa::laneid());
    const bool fp32 = element(p) == Element::fp32;
    const bool last = near_row_end(p.bias, key0 + kSpec.tile_n);
    ViewReads reads = reads_of<kSpec>(p.bias);
    if (kAny && fp32 && reads == ViewReads::words) reads = ViewReads::elements;  // words are elements
    read_by<kSpec>(reads, [&]<ViewReads kReads>() {
      if constexpr (kReads != ViewReads::words) {
        FOVEA_UNROLL
        for (i32 g = 0; g < kGroups; ++g) words_[g] = bias_words<kReads>(p.bias, fp32, row, first + 32 * g);
      } else if (!kAny && fp32) {
        fetch_words<4>(static_cast<const u8*>(p.bias.data) + 4 * row, p.bias.keys, first, last);
      } else {
        fetch_words<2>(static_cast<const u8*>(p.bias.data) + 2 * row, p.bias.keys, first, last);
      }
    });
  }

  // From a BiasTile, of which this is the lane's row `row`.
  template <class Tile>
  FOVEA_INLINE void read(const Tile& tile, i32 row, i32 slot) {
    FOVEA_UNROLL
    for (i32 g = 0; g < kGroups; ++g) words_[g] = tile.read(row, g, slot);
  }

  // As what the row's products begin with.
  template <i32 kKeyTiles>
  FOVEA_INLINE void begin(Array<FragC, kKeyTiles>& s, i32 half) const {
    FOVEA_UNROLL
    for (i32 i = 0; i < 8 * kGroups; ++i) s[i / 2].reg[2 * half + i % 2] = bias_value(words_[i / 8], i % 8, kSpec.bias);
  }

  // What kExact does below, for scores that began with the bias.
  template <i32 kKeyTiles>
  FOVEA_INLINE void hide(Array<FragC, kKeyTiles>& s, i32 half) const {
    FOVEA_UNROLL
    for (i32 i = 0; i < 8 * kGroups; ++i) {
      const bool hidden = bias_value(words_[i / 8], i % 8, kSpec.bias) == kMinusInfinity;
      if (hidden) s[i / 2].reg[2 * half + i % 2] = kMinusInfinity;
    }
  }

  // To the row's products, or to its scores; see bias_takes_scale(). kExact: a bias of -inf
  // hides a score that is NaN or +Inf as well; otherwise their sum is NaN, which the tile's sums show.
  template <bool kExact, i32 kKeyTiles>
  FOVEA_INLINE void apply(Array<FragC, kKeyTiles>& s, i32 half, const FwdParams& p) const {
    if constexpr (kAny || !kSpec.open_views()) {
      add<kExact>(s, half, p, element(p));
    } else if (p.bias_element == Element::fp32) {  // one branch, not one per key
      add<kExact>(s, half, p, Element::fp32);
    } else if (p.bias_element == Element::bf16) {
      add<kExact>(s, half, p, Element::bf16);
    } else {
      add<kExact>(s, half, p, Element::fp16);
    }
  }

 private:
  template <bool kExact, i32 kKeyTiles>
  FOVEA_INLINE void add(Array<FragC, kKeyTiles>& s, i32 half, const FwdParams& p, Element element) const {
    const f32 scale = bias_takes_scale<kSpec>(p) ? p.scale : 1.0F;
    FOVEA_UNROLL
    for (i32 i = 0; i < 8 * kGroups; ++i) {
      const f32 bias = bias_value(words_[i / 8], i % 8, element);
      f32& x = s[i / 2].reg[2 * half + i % 2];
      x = kExact && bias == kMinusInfinity ? kMinusInfinity : kAny ? x + bias : isa::fma_rn(x, scale, bias);
    }
  }
  FOVEA_INLINE static Element element(const FwdParams& p) { return kSpec.open_views() ? p.bias_element : kSpec.bias; }

  template <i32 kBytes>
  FOVEA_INLINE void fetch_words(const u8* row, i32 keys, i32 first, bool last) {
    WordRow<kBytes> words(row, keys);
    if (last) words.read_tail();
    FOVEA_UNROLL
    for (i32 g = 0; g < kGroups; ++g) {
      const auto all = words.template read<2 * kBytes>(first + 32 * g);
      FOVEA_UNROLL
      for (i32 i = 0; i < 2 * kBytes; ++i) words_[g].word[i] = all[i];
    }
  }

  Array<BiasWords, kGroups> words_;
};

// The mask of one row and key block, likewise.
template <FwdSpec kSpec>
class RowMask {
  static constexpr i32 kGroups = kSpec.tile_n / 32;

 public:
  FOVEA_INLINE void fetch(const FwdParams& p, i64 row, i32 key0) {
    const u8* keys = static_cast<const u8*>(p.mask.data) + row;
    const i32 first = key0 + lane_first_key(isa::laneid());
    const bool last = near_row_end(p.mask, key0 + kSpec.tile_n);
    read_by<kSpec>(reads_of<kSpec>(p.mask), [&]<ViewReads kReads>() {
      if constexpr (kReads == ViewReads::words) {
        WordRow<1> words(keys, p.mask.keys);
        if (last) words.read_tail();
        FOVEA_UNROLL
        for (i32 g = 0; g < kGroups; ++g) {
          const Array<u32, 2> bytes = words.read<2>(first + 32 * g);
          bytes_[g] = {bytes[0], bytes[1]};
        }
      } else {
        FOVEA_UNROLL
        for (i32 g = 0; g < kGroups; ++g) bytes_[g] = mask_bytes<kReads>(p.mask, keys, first + 32 * g);
      }
    });
  }

  template <i32 kKeyTiles>
  FOVEA_INLINE void apply(Array<FragC, kKeyTiles>& s, i32 half) const {
    FOVEA_UNROLL
    for (i32 i = 0; i < 8 * kGroups; ++i) {
      const u32 word = i % 8 < 4 ? bytes_[i / 8].x : bytes_[i / 8].y;
      if ((word & (0xffU << (8U * static_cast<u32>(i % 4)))) == 0) s[i / 2].reg[2 * half + i % 2] = kMinusInfinity;
    }
  }

 private:
  Array<U32x2, kGroups> bytes_;
};

}  // namespace fovea
