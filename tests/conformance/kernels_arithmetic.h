// math.h, math_x2.h, integer.h and convert.h on one to three words per thread.
#pragma once

#include "slice.h"

namespace fovea::conformance {

FOVEA_ENTRY(128, 1) arithmetic(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  const f32 a = real(x, 0);
  const f32 b = real(x, 1);
  const f32 c = real(x, 2);
  Sink sink{thread_slice(out, 7)};
  sink.put(isa::fma_rn(a, b, c));
  sink.put(isa::add_rn(a, b));
  sink.put(isa::mul_rn(a, b));
  sink.put(isa::div_rn(a, b));
  sink.put(isa::max(a, b));
  sink.put(isa::min(a, b));
  sink.put(isa::max3(a, b, c));
}

FOVEA_ENTRY(128, 1) approximate(const u32* in, u32* out) {
  const f32 a = real(thread_slice(in, 1), 0);
  Sink sink{thread_slice(out, 5)};
  sink.put(isa::ex2_approx_ftz(a));
  sink.put(isa::ex2_approx(a));
  sink.put(isa::lg2_approx_ftz(a));
  sink.put(isa::rcp_approx_ftz(a));
  sink.put(isa::tanh_approx(a));
}

FOVEA_ENTRY(128, 1) convert(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  const f32 a = real(x, 0);
  const f32 b = real(x, 1);
  const u16 narrow = static_cast<u16>(word(x, 2));
  Sink sink{thread_slice(out, 10)};
  sink.put(isa::cvt_rn_bf16x2(a, b));
  sink.put(isa::cvt_rn_f16x2(a, b));
  sink.put(isa::cvt_rn_bf16(a));
  sink.put(isa::cvt_rn_f16(a));
  sink.put(isa::cvt_rn_satfinite_e4m3x2(a, b));
  sink.put(isa::cvt_rn_satfinite_e5m2x2(a, b));
  sink.put(isa::cvt_rna_tf32(a));
  sink.put(isa::cvt_f32_bf16(narrow));
  sink.put(isa::cvt_f32_f16(narrow));
  sink.put(isa::cvt_rn_f16x2_e4m3x2(narrow));
}

FOVEA_ENTRY(128, 1) integer(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  const u32 a = word(x, 0);
  const u32 b = word(x, 1);
  const u32 c = word(x, 2);
  Sink sink{thread_slice(out, 6)};
  sink.put(isa::umulhi(a, b));
  sink.put(isa::lop3<0x96>(a, b, c));
  sink.put(isa::lop3<0xe8>(a, b, c));
  sink.put(isa::lop3<0x1b>(a, b, c));
  sink.put(isa::prmt(a, b, c));
  sink.put(isa::popc(a));
}

FOVEA_ENTRY(128, 1) pair_bf16(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  Sink sink{thread_slice(out, 2)};
  sink.put(isa::fma_rn_bf16x2(word(x, 0), word(x, 1), word(x, 2)));
  sink.put(isa::max_bf16x2(word(x, 0), word(x, 1)));
}

FOVEA_ENTRY(128, 1) pair_f16(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 3);
  Sink sink{thread_slice(out, 2)};
  sink.put(isa::fma_rn_f16x2(word(x, 0), word(x, 1), word(x, 2)));
  sink.put(isa::max_f16x2(word(x, 0), word(x, 1)));
}

FOVEA_ENTRY(128, 1) pair_approximate_bf16(const u32* in, u32* out) {
  Sink sink{thread_slice(out, 1)};
  sink.put(isa::ex2_approx_ftz_bf16x2(word(thread_slice(in, 1), 0)));
}

FOVEA_ENTRY(128, 1) pair_approximate_f16(const u32* in, u32* out) {
  Sink sink{thread_slice(out, 1)};
  sink.put(isa::ex2_approx_f16x2(word(thread_slice(in, 1), 0)));
}

}  // namespace fovea::conformance
