// Engine of the bf16 kernel on AMX: both products on 16x16x32 tiles, weights rounded to bf16, sums in fp32.
//   q: [rows][dqk_pad] bf16                               k: tiles of 16 keys x 32 dims, [tile_n/16][dqk_pad/32]
//   v: tiles of 32 keys x 16 columns, [tile_n/32][dv_pad/16]
//   s: kSubRows rows of kScoreStride fp32, scores; behind them kSubRows rows of kWeightStride bf16, weights; both from
//      the block's first visible key on
// A tile register holds B as pairs along the summed dimension. AMX takes bf16 subnormals as 0.
#if defined(FOVEA_CPU_ENGINE_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_ENGINE_AMX_INL_H_
#undef FOVEA_CPU_ENGINE_AMX_INL_H_
#else
#define FOVEA_CPU_ENGINE_AMX_INL_H_
#endif

#include "backend/cpu/amx-inl.h"
#include "backend/cpu/tile-inl.h"

// The target whose CPUs may have AMX.
#undef FOVEA_CPU_AMX_TARGET
#if HWY_TARGET == HWY_AVX3 && defined(FOVEA_HAVE_AMX)
#define FOVEA_CPU_AMX_TARGET 1
#else
#define FOVEA_CPU_AMX_TARGET 0
#endif
#if FOVEA_CPU_AMX_TARGET

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

class EngineAmx {
 public:
  static constexpr std::int64_t kSubRows = 64;
  static_assert(kSubRows <= kCpuSubRowsMax);
  static constexpr std::int64_t kGroupRows = 32;
  static_assert(kSubRows / kGroupRows <= kRowGroupsMax);
  static constexpr Exp kExp = Exp::fast;
  static constexpr bool kScoresKept = true;        // weights do not overwrite them
  static constexpr std::int64_t kBlockKeys = 256;  // the largest tile_n of this kernel
  static constexpr std::int64_t kScoreStride =
      kBlockKeys + 16;  // a cache line more, so that rows spread over cache sets
  static constexpr std::int64_t kScoreBytes = kScoreStride * 4;
  static constexpr std::int64_t kWeightStride = kBlockKeys + 32;
  static constexpr std::int64_t kWeightBytes = kWeightStride * 2;
  static constexpr std::int64_t kTileWords = 512;  // bf16 elements of one tile
  static_assert(kSubRows * (kScoreBytes + kWeightBytes) <= kCpuScoreFloats * 4);

  using Session = TileConfig;

  explicit EngineAmx(const TileTask& task)
      : task_(task),
        dqk_(task.problem().head_dim_qk),
        dv_(task.problem().head_dim_v),
        dqk_pad_(task.layout.dqk_pad),
        dv_pad_(task.layout.dv_pad) {}

  static float* score_row(const TileTask& task, std::int64_t row) {
    return task.buffer<float>(task.layout.s) + row * kScoreStride;
  }
  static u16* weight_row(const TileTask& task, std::int64_t row) {
    return reinterpret_cast<u16*>(score_row(task, kSubRows)) + row * kWeightStride;
  }
  static float weight(const TileTask& task, std::int64_t row, std::int64_t n) {
    return bf16_to_f32(weight_row(task, row)[n]);
  }
  static HWY_INLINE void store_weights(u16* weights, VF w0, VF w1, std::int64_t n) {
    __m512i packed;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(packed) : "v"(w0.raw), "v"(w1.raw));  // low half from w0
    _mm512_storeu_si512(weights + n, packed);
  }

  HWY_INLINE void pack_q() const {
    const u16 flip = task_.problem().softmax_scale < 0.0F ? 0x8000U : 0U;
    u16* packed = task_.buffer<u16>(task_.layout.q);
    RowWalk row(task_, task_.operands->q);
    for (std::int64_t r = 0; r < task_.rows; ++r, row.next()) {
      u16* dst = packed + r * dqk_pad_;
      copy_row(row.row(), task_.operands->q.stride_d, dqk_, dqk_pad_, dst);
      if (flip != 0) {
        for (std::int64_t c = 0; c < dqk_; ++c) dst[c] = static_cast<u16>(dst[c] ^ flip);
      }
    }
    // Rows up to the next whole tile take part in products; their results are never read.
    const std::int64_t end = (task_.rows + 15) / 16 * 16;
    std::fill_n(packed + task_.rows * dqk_pad_, (end - task_.rows) * dqk_pad_, u16{0});
  }

  // Keys [begin, end) of block n0, rounded outwards to kCpuPanel; keys outside are packed as zeros.
  HWY_INLINE void pack_k(std::int64_t n0, std::int64_t begin, std::int64_t end) const {
    u16* packed = task_.buffer<u16>(task_.layout.k);
    for (std::int64_t n = begin / kCpuPanel * kCpuPanel; n < panel_end(end); n += 16) {
      std::array<const float*, 16> rows;  // pairs of dims travel as one float
      for (std::int64_t i = 0; i < 16; ++i) {
        rows[static_cast<std::size_t>(i)] =
            reinterpret_cast<const float*>(row_or_stage(task_.operands->k, n0, n + i, end, {dqk_, dqk_pad_, i}));
      }
      transpose(rows, dqk_pad_ / 2, reinterpret_cast<float*>(packed + n * dqk_pad_), 16);
    }
  }

  // As pack_k. Returns whether every value is finite; values that are not are packed as zeros.
  HWY_INLINE bool pack_v(std::int64_t n0, std::int64_t begin, std::int64_t end) const {
    if (pack_v<false>(n0, begin, end)) return true;
    pack_v<true>(n0, begin, end);
    return false;
  }

  HWY_INLINE void scores(std::int64_t first, std::int64_t rows, const Visible& visible) const {
    const u16* q = task_.buffer<u16>(task_.layout.q) + first * dqk_pad_;
    for (std::int64_t n = visible.begin; n < visible.end; n += 32) {
      const u16* k = task_.buffer<u16>(task_.layout.k) + n * dqk_pad_;
      for (std::int64_t r = 0; r < rows; r += kGroupRows) {
        const KeyRange keys = visible.group(r / kGroupRows);
        if (n + 32 <= keys.begin || n >= keys.end) continue;
        std::byte* s = reinterpret_cast<std::byte*>(score_row(task_, r) + (n - visible.begin));
        if (rows - r > 16) {
          score_block(q + r * dqk_pad_, k, s);
        } else {
          score_block_narrow(q + r * dqk_pad_, k, s);
        }
      }
    }
  }

  HWY_INLINE void values(std::int64_t first, std::int64_t rows, const Visible& visible) const {
    for (std::int64_t c = 0; c < dv_pad_; c += 32) {
      const u16* v = task_.buffer<u16>(task_.layout.v) + c / 16 * kTileWords;
      for (std::int64_t r = 0; r < rows; r += kGroupRows) {
        const KeyRange keys = whole_panels(visible.group(r / kGroupRows));
        const u16* weights = weight_row(task_, r) + (keys.begin - visible.begin);
        float* o = task_.buffer<float>(task_.layout.o) + (first + r) * dv_pad_ + c;
        if (rows - r > 16) {
          value_block(weights, v, o, keys);
        } else {
          value_block_narrow(weights, v, o, keys);
        }
      }
    }
  }

 private:
  static std::int64_t panel_end(std::int64_t end) { return (end + kCpuPanel - 1) / kCpuPanel * kCpuPanel; }

  static HWY_INLINE void copy_row(const std::byte* src, std::int64_t stride, std::int64_t count, std::int64_t padded,
                                  u16* dst) {
    if (stride == 1) {
      std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(u16));
    } else {
      for (std::int64_t c = 0; c < count; ++c) std::memcpy(dst + c, src + 2 * c * stride, sizeof(u16));
    }
    std::fill(dst + count, dst + padded, u16{0});
  }

  struct RowShape {
    std::int64_t count, padded, slot;
  };
  // Row of key n of the block, `padded` elements long: in place where memory already is that, else staged in `slot`.
  HWY_INLINE const std::byte* row_or_stage(const RowView& view, std::int64_t n0, std::int64_t n, std::int64_t end,
                                           const RowShape& shape) const {
    u16* stage = task_.buffer<u16>(task_.layout.stage) + shape.slot * shape.padded;
    if (n >= end) {
      std::fill_n(stage, shape.padded, u16{0});
      return reinterpret_cast<const std::byte*>(stage);
    }
    const std::byte* row = key_address(task_, view, n0 + n);
    if (view.stride_d == 1 && shape.count == shape.padded) return row;
    copy_row(row, view.stride_d, shape.count, shape.padded, stage);
    return reinterpret_cast<const std::byte*>(stage);
  }

  static HWY_INLINE __m512i finite_or_zero(__m512i x) {
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    const __mmask32 finite = _mm512_cmpneq_epi16_mask(_mm512_and_si512(x, exponent), exponent);
    return _mm512_maskz_mov_epi16(finite, x);
  }

  template <bool kSanitise>
  HWY_INLINE bool pack_v(std::int64_t n0, std::int64_t begin, std::int64_t end) const {
    u16* packed = task_.buffer<u16>(task_.layout.v);
    const __m512i split = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);  // then unpacking keeps columns in order
    const __m512i magnitude = _mm512_set1_epi16(0x7fff);
    __m512i largest = _mm512_setzero_si512();
    for (std::int64_t n = begin / kCpuPanel * kCpuPanel; n < panel_end(end); n += 2) {
      const std::byte* row0 = row_or_stage(task_.operands->v, n0, n, end, {dv_, dv_pad_, 0});
      const std::byte* row1 = row_or_stage(task_.operands->v, n0, n + 1, end, {dv_, dv_pad_, 1});
      u16* dst = packed + n / 32 * 32 * dv_pad_ + n % 32 * 16;
      for (std::int64_t c = 0; c < dv_pad_; c += 32, dst += 2 * kTileWords) {
        __m512i x = _mm512_loadu_si512(row0 + 2 * c);
        __m512i y = _mm512_loadu_si512(row1 + 2 * c);
        if constexpr (kSanitise) {
          x = finite_or_zero(x);
          y = finite_or_zero(y);
        }
        largest = _mm512_max_epu16(largest, _mm512_and_si512(x, magnitude));
        largest = _mm512_max_epu16(largest, _mm512_and_si512(y, magnitude));
        x = _mm512_permutexvar_epi64(split, x);
        y = _mm512_permutexvar_epi64(split, y);
        _mm512_storeu_si512(dst, _mm512_unpacklo_epi16(x, y));
        _mm512_storeu_si512(dst + kTileWords, _mm512_unpackhi_epi16(x, y));
      }
    }
    return _mm512_cmpge_epu16_mask(largest, _mm512_set1_epi16(0x7f80)) == 0;
  }

  // s[32][32] = q[32][dqk] * k[32][dqk]^T
  HWY_INLINE void score_block(const u16* q, const u16* k, std::byte* s) const {
    const std::int64_t q_bytes = 2 * dqk_pad_;
    FOVEA_TILE_ZERO(0);
    FOVEA_TILE_ZERO(1);
    FOVEA_TILE_ZERO(2);
    FOVEA_TILE_ZERO(3);
    for (std::int64_t c = 0; c < dqk_pad_; c += 32, k += kTileWords) {
      FOVEA_TILE_LOAD(4, q + c, q_bytes);
      FOVEA_TILE_LOAD(6, k, 64);
      FOVEA_TILE_DOT(0, 4, 6);
      FOVEA_TILE_LOAD(7, k + 16 * dqk_pad_, 64);
      FOVEA_TILE_DOT(1, 4, 7);
      FOVEA_TILE_LOAD(5, q + 16 * dqk_pad_ + c, q_bytes);
      FOVEA_TILE_DOT(2, 5, 6);
      FOVEA_TILE_DOT(3, 5, 7);
    }
    FOVEA_TILE_STORE(0, s, kScoreBytes);
    FOVEA_TILE_STORE(1, s + 64, kScoreBytes);
    FOVEA_TILE_STORE(2, s + 16 * kScoreBytes, kScoreBytes);
    FOVEA_TILE_STORE(3, s + 16 * kScoreBytes + 64, kScoreBytes);
  }

  // s[16][32], for sub-tiles of at most 16 rows
  HWY_INLINE void score_block_narrow(const u16* q, const u16* k, std::byte* s) const {
    FOVEA_TILE_ZERO(0);
    FOVEA_TILE_ZERO(1);
    for (std::int64_t c = 0; c < dqk_pad_; c += 32, k += kTileWords) {
      FOVEA_TILE_LOAD(4, q + c, 2 * dqk_pad_);
      FOVEA_TILE_LOAD(6, k, 64);
      FOVEA_TILE_DOT(0, 4, 6);
      FOVEA_TILE_LOAD(7, k + 16 * dqk_pad_, 64);
      FOVEA_TILE_DOT(1, 4, 7);
    }
    FOVEA_TILE_STORE(0, s, kScoreBytes);
    FOVEA_TILE_STORE(1, s + 64, kScoreBytes);
  }

  // o[32][32] += p[32][keys] * v[keys][32]
  HWY_INLINE void value_block(const u16* weights, const u16* v, float* o, const KeyRange& keys) const {
    const std::int64_t o_bytes = 4 * dv_pad_;
    const std::byte* p = reinterpret_cast<const std::byte*>(weights);
    FOVEA_TILE_LOAD(0, o, o_bytes);
    FOVEA_TILE_LOAD(1, o + 16, o_bytes);
    FOVEA_TILE_LOAD(2, o + 16 * dv_pad_, o_bytes);
    FOVEA_TILE_LOAD(3, o + 16 * dv_pad_ + 16, o_bytes);
    for (std::int64_t n = keys.begin; n < keys.end; n += 32) {
      const u16* tiles = v + n * dv_pad_;
      FOVEA_TILE_LOAD(4, p + 2 * (n - keys.begin), kWeightBytes);
      FOVEA_TILE_LOAD(6, tiles, 64);
      FOVEA_TILE_DOT(0, 4, 6);
      FOVEA_TILE_LOAD(7, tiles + kTileWords, 64);
      FOVEA_TILE_DOT(1, 4, 7);
      FOVEA_TILE_LOAD(5, p + 16 * kWeightBytes + 2 * (n - keys.begin), kWeightBytes);
      FOVEA_TILE_DOT(2, 5, 6);
      FOVEA_TILE_DOT(3, 5, 7);
    }
    FOVEA_TILE_STORE(0, o, o_bytes);
    FOVEA_TILE_STORE(1, o + 16, o_bytes);
    FOVEA_TILE_STORE(2, o + 16 * dv_pad_, o_bytes);
    FOVEA_TILE_STORE(3, o + 16 * dv_pad_ + 16, o_bytes);
  }

  // o[16][32] += p[16][keys] * v[keys][32]
  HWY_INLINE void value_block_narrow(const u16* weights, const u16* v, float* o, const KeyRange& keys) const {
    const std::byte* p = reinterpret_cast<const std::byte*>(weights);
    FOVEA_TILE_LOAD(0, o, 4 * dv_pad_);
    FOVEA_TILE_LOAD(1, o + 16, 4 * dv_pad_);
    for (std::int64_t n = keys.begin; n < keys.end; n += 32) {
      FOVEA_TILE_LOAD(4, p + 2 * (n - keys.begin), kWeightBytes);
      FOVEA_TILE_LOAD(6, v + n * dv_pad_, 64);
      FOVEA_TILE_DOT(0, 4, 6);
      FOVEA_TILE_LOAD(7, v + n * dv_pad_ + kTileWords, 64);
      FOVEA_TILE_DOT(1, 4, 7);
    }
    FOVEA_TILE_STORE(0, o, 4 * dv_pad_);
    FOVEA_TILE_STORE(1, o + 16, 4 * dv_pad_);
  }

  const TileTask& task_;
  std::int64_t dqk_, dv_, dqk_pad_, dv_pad_;
};

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif  // FOVEA_CPU_AMX_TARGET
#endif
