// Transposes and row staging: how rows of q, k and v, of any dtype, stride and page, reach packed buffers.
#if defined(FOVEA_CPU_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_PACK_INL_H_
#undef FOVEA_CPU_PACK_INL_H_
#else
#define FOVEA_CPU_PACK_INL_H_
#endif

#include <array>

#include "backend/cpu/convert-inl.h"
#include "backend/cpu/tile.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
// dst[c*dst_stride] = rows[0][c]: with one lane there is nothing to transpose.
template <std::size_t kRows>
HWY_INLINE void transpose(const std::array<const float*, kRows>& rows, std::int64_t columns, float* HWY_RESTRICT dst,
                          std::int64_t dst_stride) {
  for (std::int64_t c = 0; c < columns; ++c) dst[c * dst_stride] = rows[0][c];
}
#else
// One vector whose 128-bit block i is the four floats at rows[first + 4*i] + offset.
template <std::size_t kRows>
HWY_INLINE VF load_blocks(const std::array<const float*, kRows>& rows, std::size_t first, std::int64_t offset) {
  const hn::Full128<float> d4;
  const auto block = [&](std::size_t i) { return hn::LoadU(d4, rows[first + 4 * i] + offset); };
  if constexpr (kRows == 16) {
    const hn::Repartition<float, hn::Half<DF>> d8;
    return hn::Combine(DF(), hn::Combine(d8, block(3), block(2)), hn::Combine(d8, block(1), block(0)));
  } else if constexpr (kRows == 8) {
    return hn::Combine(DF(), block(1), block(0));
  } else {
    return block(0);
  }
}

// dst[c*dst_stride + r] = rows[r][c] for lanes() rows and `columns` columns, a multiple of 4.
template <std::size_t kRows>
HWY_INLINE void transpose(const std::array<const float*, kRows>& rows, std::int64_t columns, float* HWY_RESTRICT dst,
                          std::int64_t dst_stride) {
  static_assert(kRows == static_cast<std::size_t>(hn::MaxLanes(DF())));
  const DF d;
  const hn::RepartitionToWide<DF> dw;
  const auto wide = [&](VF x) { return hn::BitCast(dw, x); };
  for (std::int64_t c = 0; c < columns; c += 4) {
    const VF r0 = load_blocks(rows, 0, c);
    const VF r1 = load_blocks(rows, 1, c);
    const VF r2 = load_blocks(rows, 2, c);
    const VF r3 = load_blocks(rows, 3, c);
    const VF t0 = hn::InterleaveLower(d, r0, r1);
    const VF t1 = hn::InterleaveUpper(d, r0, r1);
    const VF t2 = hn::InterleaveLower(d, r2, r3);
    const VF t3 = hn::InterleaveUpper(d, r2, r3);
    float* out = dst + c * dst_stride;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, wide(t0), wide(t2))), d, out);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, wide(t0), wide(t2))), d, out + dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, wide(t1), wide(t3))), d, out + 2 * dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, wide(t1), wide(t3))), d, out + 3 * dst_stride);
  }
}

// As transpose() for rows of bf16, two to a float, which leave as fp32; `columns` is a multiple of 8. The last
// interleave puts zeros below the 16 bits, which widens them.
template <std::size_t kRows>
HWY_INLINE void transpose_bf16(const std::array<const float*, kRows>& rows, std::int64_t columns,
                               float* HWY_RESTRICT dst, std::int64_t dst_stride) {
  const DF d;
  const hn::Repartition<std::uint16_t, DF> d16;
  const hn::RebindToUnsigned<DF> d32;
  const auto wide = [&](auto x) { return hn::BitCast(d32, x); };
  const auto pairs = [&](std::size_t first, std::int64_t c) {
    return hn::BitCast(d16, load_blocks(rows, first, c / 2));
  };
  const auto store = [&](auto both, float* out) {  // two columns of four rows per 128-bit block
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d16, hn::Zero(d16), both)), d, out);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d16, hn::Zero(d16), both)), d, out + dst_stride);
  };
  for (std::int64_t c = 0; c < columns; c += 8) {
    const auto r0 = pairs(0, c);
    const auto r1 = pairs(1, c);
    const auto r2 = pairs(2, c);
    const auto r3 = pairs(3, c);
    const auto t0 = hn::InterleaveLower(d16, r0, r1);
    const auto t1 = hn::InterleaveUpper(d16, r0, r1);
    const auto t2 = hn::InterleaveLower(d16, r2, r3);
    const auto t3 = hn::InterleaveUpper(d16, r2, r3);
    float* out = dst + c * dst_stride;
    store(hn::BitCast(d16, hn::InterleaveLower(d32, wide(t0), wide(t2))), out);
    store(hn::BitCast(d16, hn::InterleaveUpper(d32, wide(t0), wide(t2))), out + 2 * dst_stride);
    store(hn::BitCast(d16, hn::InterleaveLower(d32, wide(t1), wide(t3))), out + 4 * dst_stride);
    store(hn::BitCast(d16, hn::InterleaveUpper(d32, wide(t1), wide(t3))), out + 6 * dst_stride);
  }
}
#endif

// Whether any lane is Inf or NaN.
HWY_INLINE bool any_nonfinite(hn::Vec<hn::RebindToUnsigned<DF>> seen) {
  const hn::RebindToUnsigned<DF> du;
  return !hn::AllFalse(du, hn::Ne(seen, hn::Zero(du)));
}
// All ones in lanes where x is Inf or NaN.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> nonfinite_lanes(VF x) {
  const hn::RebindToUnsigned<DF> du;
  const auto exponent = hn::Set(du, 0x7f800000U);
  return hn::VecFromMask(du, hn::Eq(hn::And(hn::BitCast(du, x), exponent), exponent));
}

// Rows lie too far apart for hardware to foresee the next one: packing asks for the one that comes kRowsAhead later.
inline constexpr std::int64_t kRowsAhead = 16;
HWY_INLINE void prefetch_after(const TileTask& task, const RowView& view, std::int64_t key, std::int64_t count) {
  if (key + kRowsAhead >= task.key_end) return;
  prefetch_row<3>(key_address(task, view, key + kRowsAhead), view_bytes(view, count));
}

// A row of q, k or v as contiguous fp32, `padded` long: in place where memory already is that, else through `stage`.
// row: null for zeros.
HWY_INLINE const float* stage_row(const RowView& view, const std::byte* row, std::int64_t count, std::int64_t padded,
                                  float* stage) {
  if (row == nullptr) {
    std::fill_n(stage, padded, 0.0F);
    return stage;
  }
  if (view.dtype == FOVEA_F32 && view.stride_d == 1 && count == padded) return reinterpret_cast<const float*>(row);
  load_row(view.dtype, row, view.stride_d, count, padded, stage);
  return stage;
}

// Whether vectors may widen rows of `count` bf16 where they lie, without a stage.
HWY_INLINE bool vectors_read_bf16(const RowView& view, std::int64_t count) {
  return HWY_TARGET != HWY_SCALAR && view.dtype == FOVEA_BF16 && view.stride_d == 1 && count % 8 == 0 &&
         count % lanes() == 0;
}

// dst[c*dst_stride + r] = rows[r][c] as fp32 for lanes() rows of `count` columns, and zeros up to the next multiple of
// four. Null: a row of zeros, none but such behind it. stage: [lanes()][row_pad]. A row named twice in succession is
// read once.
template <std::size_t kRows>
HWY_INLINE void transpose_rows(const RowView& view, const std::array<const std::byte*, kRows>& rows, std::int64_t count,
                               float* stage, std::int64_t row_pad, float* HWY_RESTRICT dst, std::int64_t dst_stride) {
  std::array<const float*, kRows> source;
#if HWY_TARGET != HWY_SCALAR
  if (vectors_read_bf16(view, count)) {
    if (rows.back() == nullptr) std::fill_n(stage, count / 2, 0.0F);
    for (std::size_t i = 0; i < kRows; ++i) {
      source[i] = rows[i] != nullptr ? reinterpret_cast<const float*>(rows[i]) : stage;
    }
    transpose_bf16(source, count, dst, dst_stride);
    return;
  }
#endif
  const std::int64_t padded = (count + 3) / 4 * 4;
  for (std::size_t i = 0; i < kRows; ++i) {
    source[i] = i > 0 && rows[i] == rows[i - 1]
                    ? source[i - 1]
                    : stage_row(view, rows[i], count, padded, stage + static_cast<std::int64_t>(i) * row_pad);
  }
  transpose(source, padded, dst, dst_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
