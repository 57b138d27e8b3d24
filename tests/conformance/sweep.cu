// Exhaustive sweeps on a GPU: all 2^32 fp32 inputs of the approximate functions against fp64, in ulps of the fp32
// result, and of the narrowing conversions against device/base/numbers.h. NVRTC only: uses the fp64 functions of the
// device library.
#include "isa/isa.h"

namespace fovea::conformance {

// worst[bucket]: error in ulps (fp32 bits, high word) and the input it belongs to. Buckets: 0 subnormal inputs, 1 results
// subnormal or zero, 2 |x| in [0.5, 2], 3 other. strange: inputs where one side is NaN or infinite and the other is not.
inline constexpr u32 kBuckets = 4;

FOVEA_INLINE void atomic_max(u64* p, u64 v) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

FOVEA_INLINE f32 ulp_error(f32 got, double exact) {
  const f32 rounded = static_cast<f32>(exact);
  const u32 exponent = f32_bits(rounded) >> 23U & 0xffU;
  const i32 scale = (exponent == 0 ? 1 : static_cast<i32>(exponent)) - 127 - 23;
  return static_cast<f32>(fabs(static_cast<double>(got) - exact) * exp2(static_cast<double>(-scale)));
}

FOVEA_INLINE bool finite(u32 bits) { return (bits & 0x7f800000U) != 0x7f800000U; }

template <class Function, class Exact>
FOVEA_INLINE void sweep(u64* worst, u32* strange, Function function, Exact exact_of) {
  u64 local[kBuckets] = {0, 0, 0, 0};
  u32 count = 0;
  const u64 stride = static_cast<u64>(isa::nctaid_x()) * isa::ntid_x();
  for (u64 i = static_cast<u64>(isa::ctaid_x()) * isa::ntid_x() + isa::tid_x(); i < 1ULL << 32U; i += stride) {
    const u32 bits = static_cast<u32>(i);
    const f32 x = f32_from_bits(bits);
    const f32 got = function(x);
    const double exact = exact_of(static_cast<double>(x));
    if (!finite(f32_bits(got)) || !finite(f32_bits(static_cast<f32>(exact)))) {
      const bool both_nan = got != got && exact != exact;
      if (!both_nan && got != static_cast<f32>(exact)) ++count;
      continue;
    }
    const u32 magnitude = bits & 0x7fffffffU;
    const bool small = (f32_bits(static_cast<f32>(exact)) & 0x7f800000U) == 0;
    const u32 bucket = magnitude < 0x00800000U ? 0 : small ? 1 : magnitude >= 0x3f000000U && magnitude <= 0x40000000U ? 2 : 3;
    const u64 candidate = static_cast<u64>(f32_bits(ulp_error(got, exact))) << 32U | bits;
    FOVEA_UNROLL
    for (u32 b = 0; b < kBuckets; ++b) {
      if (b == bucket && candidate > local[b]) local[b] = candidate;
    }
  }
  FOVEA_UNROLL
  for (u32 b = 0; b < kBuckets; ++b) atomic_max(worst + b, local[b]);
  isa::atom_add_global(strange, count);
}

FOVEA_ENTRY(256, 1) sweep_ex2_ftz(u64* worst, u32* strange) {
  sweep(worst, strange, [](f32 x) { return isa::ex2_approx_ftz(x); }, [](double x) { return exp2(x); });
}
FOVEA_ENTRY(256, 1) sweep_ex2(u64* worst, u32* strange) {
  sweep(worst, strange, [](f32 x) { return isa::ex2_approx(x); }, [](double x) { return exp2(x); });
}
FOVEA_ENTRY(256, 1) sweep_lg2_ftz(u64* worst, u32* strange) {
  sweep(worst, strange, [](f32 x) { return isa::lg2_approx_ftz(x); }, [](double x) { return log2(x); });
}
FOVEA_ENTRY(256, 1) sweep_rcp_ftz(u64* worst, u32* strange) {
  sweep(worst, strange, [](f32 x) { return isa::rcp_approx_ftz(x); }, [](double x) { return 1.0 / x; });
}
FOVEA_ENTRY(256, 1) sweep_tanh(u64* worst, u32* strange) {
  sweep(worst, strange, [](f32 x) { return isa::tanh_approx(x); }, [](double x) { return tanh(x); });
}

// differing[i]: inputs, NaNs apart, where conversion i differs from numbers.h.
FOVEA_ENTRY(256, 1) sweep_convert(u64*, u32* differing) {
  u32 bf16 = 0;
  u32 f16 = 0;
  u32 widened = 0;
  const u64 stride = static_cast<u64>(isa::nctaid_x()) * isa::ntid_x();
  for (u64 i = static_cast<u64>(isa::ctaid_x()) * isa::ntid_x() + isa::tid_x(); i < 1ULL << 32U; i += stride) {
    const f32 x = f32_from_bits(static_cast<u32>(i));
    if (x != x) continue;
    bf16 += isa::cvt_rn_bf16(x) != f32_to_bf16(x);
    f16 += isa::cvt_rn_f16(x) != f32_to_f16(x);
    const u16 narrow = static_cast<u16>(i);
    const f32 wide = f16_to_f32(narrow);
    widened += wide == wide && f32_bits(isa::cvt_f32_f16(narrow)) != f32_bits(wide);
  }
  isa::atom_add_global(differing, bf16);
  isa::atom_add_global(differing + 1, f16);
  isa::atom_add_global(differing + 2, widened);
}

}  // namespace fovea::conformance
