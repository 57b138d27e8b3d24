// Rows of any dtype and stride to and from contiguous fp32. Compiled once per SIMD target.
#if defined(FOVEA_CPU_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_CONVERT_INL_H_
#undef FOVEA_CPU_CONVERT_INL_H_
#else
#define FOVEA_CPU_CONVERT_INL_H_
#endif

#include <cstring>

#include "device/base/numbers.h"
#include "hwy/highway.h"
#include "plan/operands.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
HWY_INLINE constexpr std::int64_t lanes() { return static_cast<std::int64_t>(hn::MaxLanes(DF())); }

HWY_INLINE float load_scalar(fovea_dtype dtype, const std::byte* p) {
  if (dtype == FOVEA_F32) {
    float x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  u16 x;
  std::memcpy(&x, p, sizeof(x));
  return dtype == FOVEA_BF16 ? bf16_to_f32(x) : f16_to_f32(x);
}

HWY_INLINE void store_scalar(fovea_dtype dtype, float x, std::byte* p) {
  if (dtype == FOVEA_F32) {
    std::memcpy(p, &x, sizeof(x));
    return;
  }
  const u16 bits = dtype == FOVEA_BF16 ? f32_to_bf16(x) : f32_to_f16(x);
  std::memcpy(p, &bits, sizeof(bits));
}

HWY_INLINE VF load_bf16(const std::byte* p) {
  const hn::Rebind<hwy::bfloat16_t, DF> d16;
  return hn::PromoteTo(DF(), hn::LoadU(d16, reinterpret_cast<const hwy::bfloat16_t*>(p)));
}

HWY_INLINE VF load_f16(const std::byte* p) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  return hn::PromoteTo(DF(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
}

// kLevel: as of __builtin_prefetch, 2 = into the level-2 cache, 3 = into the level-1 cache.
template <int kLevel>
HWY_INLINE void prefetch_row(const std::byte* row, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(row + i, 0, kLevel);
}

// Whether Highway widens fp16 in hardware here; elsewhere its emulation does not cover Inf and NaN.
HWY_INLINE constexpr bool has_f16_vectors() { return HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3; }

// dst[0, count) = src row as fp32; dst[count, padded) = 0. `stride` counts elements.
HWY_INLINE void load_row(fovea_dtype dtype, const std::byte* src, std::int64_t stride, std::int64_t count,
                         std::int64_t padded, float* HWY_RESTRICT dst) {
  const std::int64_t element = dtype == FOVEA_F32 ? 4 : 2;
  std::int64_t i = 0;
  if (stride == 1) {
    const std::int64_t step = lanes();
    if (dtype == FOVEA_F32) {
      std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(float));
      i = count;
    } else if (dtype == FOVEA_BF16) {
      for (; i + step <= count; i += step) hn::StoreU(load_bf16(src + 2 * i), DF(), dst + i);
    } else if (has_f16_vectors()) {
      for (; i + step <= count; i += step) hn::StoreU(load_f16(src + 2 * i), DF(), dst + i);
    }
  }
  for (; i < count; ++i) dst[i] = load_scalar(dtype, src + i * stride * element);
  for (; i < padded; ++i) dst[i] = 0.0F;
}

// Round to nearest even; NaN stays NaN.
HWY_INLINE void store_bf16(VF x, std::byte* p) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<std::uint16_t, DF> d16;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000U));
  const auto kept = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, rounded);
  const auto half = hn::BitCast(di, hn::ShiftRight<16>(kept));
  hn::StoreU(hn::DemoteTo(d16, half), d16, reinterpret_cast<std::uint16_t*>(p));
}

HWY_INLINE void store_f16(VF x, std::byte* p) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  hn::StoreU(hn::DemoteTo(d16, x), d16, reinterpret_cast<hwy::float16_t*>(p));
}

// dst row = (src * a) * b, rounded to dtype.
HWY_INLINE void store_row(const float* HWY_RESTRICT src, float a, float b, std::int64_t count, fovea_dtype dtype,
                          std::byte* dst, std::int64_t stride) {
  const std::int64_t element = dtype == FOVEA_F32 ? 4 : 2;
  std::int64_t i = 0;
  if (stride == 1 && (dtype != FOVEA_F16 || has_f16_vectors())) {
    const VF va = hn::Set(DF(), a);
    const VF vb = hn::Set(DF(), b);
    for (; i + lanes() <= count; i += lanes()) {
      const VF x = hn::Mul(hn::Mul(hn::LoadU(DF(), src + i), va), vb);
      if (dtype == FOVEA_F32) {
        hn::StoreU(x, DF(), reinterpret_cast<float*>(dst) + i);
      } else if (dtype == FOVEA_BF16) {
        store_bf16(x, dst + 2 * i);
      } else if constexpr (has_f16_vectors()) {
        store_f16(x, dst + 2 * i);
      }
    }
  }
  for (; i < count; ++i) store_scalar(dtype, (src[i] * a) * b, dst + i * stride * element);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
