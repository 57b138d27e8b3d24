// Fragments and arithmetic of the matrix instructions, and exact scalar operations, against expectations written apart
// from the model: plain loops over matrices, long double sums, tables.
#include <cmath>
#include <random>

#include "kernel_run.h"

namespace fovea::model_test {
namespace {

SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

struct Params {
  const u16* a;  // 16 x K, row-major
  const u16* b;  // 8 x K: column n of B is contiguous
  f32* d;        // 16 x 8
};

u32 pair(const u16* p) { return p[0] | u32{p[1]} << 16U; }

// Fragments filled from the closed form of the manual: row g + 8 (r & 1), k = 2 q + e + 8 (r >> 1).
template <bool kBf16>
void mma_k16(const Params& p) {
  const u32 g = isa::laneid() / 4, q = isa::laneid() % 4;
  Array<u32, 4> a;
  Array<u32, 2> b;
  for (u32 r = 0; r < 4; ++r) a.v[r] = pair(p.a + (g + 8 * (r & 1U)) * 16 + 2 * q + 8 * (r >> 1U));
  for (u32 r = 0; r < 2; ++r) b.v[r] = pair(p.b + g * 16 + 2 * q + 8 * r);
  Array<f32, 4> c;
  for (u32 r = 0; r < 4; ++r) c.v[r] = p.d[(g + 8 * (r >> 1U)) * 8 + 2 * q + (r & 1U)];
  const Array<f32, 4> d = kBf16 ? isa::mma_m16n8k16_f32_bf16(a, b, c) : isa::mma_m16n8k16_f32_f16(a, b, c);
  for (u32 r = 0; r < 4; ++r) p.d[(g + 8 * (r >> 1U)) * 8 + 2 * q + (r & 1U)] = d.v[r];
}

TEST(Mma, SmallIntegersAreExact) {
  for (const bool bf16 : {true, false}) {
    std::vector<u16> a(16 * 16), b(8 * 16);
    std::vector<f32> d(128), expected(128);
    const auto bits = [&](f32 x) { return bf16 ? f32_to_bf16(x) : f32_to_f16(x); };
    const auto value = [&](u16 x) { return bf16 ? bf16_to_f32(x) : f16_to_f32(x); };
    std::mt19937 random(7);
    for (u16& x : a) x = bits(static_cast<f32>(static_cast<int>(random() % 17) - 8));
    for (u16& x : b) x = bits(static_cast<f32>(static_cast<int>(random() % 17) - 8));
    for (u32 i = 0; i < 128; ++i) d[i] = expected[i] = static_cast<f32>(i);
    for (u32 m = 0; m < 16; ++m) {
      for (u32 n = 0; n < 8; ++n) {
        for (u32 k = 0; k < 16; ++k) expected[m * 8 + n] += value(a[m * 16 + k]) * value(b[n * 16 + k]);
      }
    }
    for (const int sm : {80, 90, 120}) {
      std::vector<f32> out = d;
      const Report report = run<Params>({.threads = 32, .sm = sm}, {}, bf16 ? mma_k16<true> : mma_k16<false>,
                                        {a.data(), b.data(), out.data()});
      ASSERT_FALSE(report.fault) << text(report);
      EXPECT_EQ(out, expected) << sm;
      EXPECT_EQ(report.counters.mma, 1U);
    }
  }
}

// One output element of an m16n8k16 product, everything else zero.
f32 dot(int sm, const std::vector<f32>& a_row, const std::vector<f32>& b_col, f32 c) {
  std::vector<u16> a(256), b(128);
  std::vector<f32> d(128);
  for (u32 k = 0; k < a_row.size(); ++k) {
    a[k] = f32_to_bf16(a_row[k]);
    b[k] = f32_to_bf16(b_col[k]);
  }
  d[0] = c;
  const Report report = run<Params>({.threads = 32, .sm = sm}, {}, mma_k16<true>, {a.data(), b.data(), d.data()});
  EXPECT_FALSE(report.fault) << text(report);
  return d[0];
}

// Every term is cut at F fraction bits below the largest exponent: 2^-25 survives beside 1 on SM90 and is lost on SM80.
TEST(Mma, TermsAreTruncatedBelowTheLargestExponent) {
  const f32 ulp = 0x1p-23F;
  // 1 + four times 2^-25: with F = 25 they add up to one ulp; with F = 24 each is lost.
  const std::vector<f32> a(5, 1.0F), b{1.0F, 0x1p-25F, 0x1p-25F, 0x1p-25F, 0x1p-25F};
  EXPECT_EQ(dot(90, a, b, 0.0F), 1.0F + ulp);
  EXPECT_EQ(dot(120, a, b, 0.0F), 1.0F + ulp);
  EXPECT_EQ(dot(80, a, b, 0.0F), 1.0F);
  // The result is truncated, not rounded: 1 + 3 * 2^-25 is 1.
  EXPECT_EQ(dot(90, {1, 1, 1, 1}, {1.0F, 0x1p-25F, 0x1p-25F, 0x1p-25F}, 0.0F), 1.0F);
  // and toward zero for negative sums.
  EXPECT_EQ(dot(90, {1, 1}, {-1.0F, -0x1p-25F}, 0.0F), -1.0F);
}

// SM80 sums k 0..7, rounds, then adds k 8..15: a small term of the first half is lost before the large one cancels.
TEST(Mma, HalfKStepsRoundBetween) {
  std::vector<f32> a(16, 0.0F), b(16, 1.0F);
  a[0] = 0x1p+24F;
  a[1] = 0.5F;  // 2^24 + 0.5 truncates to 2^24 in the first step
  a[8] = -0x1p+24F;
  EXPECT_EQ(dot(80, a, b, 0.0F), 0.0F);
  EXPECT_EQ(dot(90, a, b, 0.0F), 0.5F);
}

TEST(Mma, SpecialValues) {
  const f32 inf = INFINITY;
  EXPECT_EQ(dot(90, {inf, 1}, {1, 1}, 0.0F), inf);
  EXPECT_EQ(f32_bits(dot(90, {inf, -inf}, {1, 1}, 0.0F)), 0x7fffffffU);
  EXPECT_EQ(f32_bits(dot(90, {NAN}, {1}, 0.0F)), 0x7fffffffU);
}

struct Bits {
  u32* out;
};

TEST(Matrix, LdmatrixStmatrixAndMovmatrixFollowTheManualsMap) {
  std::vector<u32> out(32 * 6);
  const Report report = run<Bits>({.threads = 32, .smem_bytes = 1024, .sm = 90}, {},
                                  [](const Bits& p) {
                                    const u32 t = isa::laneid();
                                    // Row r of matrix m: halves m*64 + r*8 + c.
                                    for (u32 w = 0; w < 4; ++w) {
                                      const u32 first = (t * 4 + w) * 2;
                                      isa::st_shared<u32>(smem(16 * t + 4 * w), first | (first + 1) << 16U);
                                    }
                                    isa::bar_warp_sync(~0U);
                                    const Array<u32, 4> r = isa::ldmatrix_x4(smem(16 * t));
                                    const Array<u32, 4> s = isa::ldmatrix_x4_trans(smem(16 * t));
                                    p.out[t * 6] = r.v[0];
                                    p.out[t * 6 + 1] = r.v[3];
                                    p.out[t * 6 + 2] = s.v[2];
                                    p.out[t * 6 + 3] = isa::movmatrix_trans(r.v[2]);
                                    isa::stmatrix_x4_trans(smem(512 + 16 * t), s);
                                    isa::bar_warp_sync(~0U);
                                    p.out[t * 6 + 4] = isa::ld_shared<u32>(smem(16 * t + 4));
                                    p.out[t * 6 + 5] = isa::ld_shared<u32>(smem(512 + 16 * t + 4));
                                  },
                                  {out.data()});
  ASSERT_FALSE(report.fault) << text(report);
  for (u32 t = 0; t < 32; ++t) {
    const u32 g = t / 4, q = t % 4;
    const auto element = [](u32 m, u32 row, u32 col) { return m * 64 + row * 8 + col; };
    EXPECT_EQ(out[t * 6], element(0, g, 2 * q) | element(0, g, 2 * q + 1) << 16U);
    EXPECT_EQ(out[t * 6 + 1], element(3, g, 2 * q) | element(3, g, 2 * q + 1) << 16U);
    const u32 transposed = element(2, 2 * q, g) | element(2, 2 * q + 1, g) << 16U;
    EXPECT_EQ(out[t * 6 + 2], transposed);
    EXPECT_EQ(out[t * 6 + 3], transposed);
    EXPECT_EQ(out[t * 6 + 4], out[t * 6 + 5]);
  }
}

TEST(Banks, ConflictsAreCounted) {
  const auto conflicts = [](void (*kernel)(const Bits&)) {
    const Report report = run<Bits>({.threads = 32, .smem_bytes = 32 * 128}, {}, kernel, {});
    EXPECT_FALSE(report.fault) << text(report);
    return std::pair(report.counters.smem_wavefronts, report.counters.smem_bank_conflict_ways);
  };
  using Count = std::pair<u64, u64>;
  EXPECT_EQ(conflicts([](const Bits&) { isa::st_shared<u32>(smem(4 * isa::tid_x()), 1); }), Count(1, 0));
  EXPECT_EQ(conflicts([](const Bits&) { isa::st_shared<u32>(smem(128 * isa::tid_x()), 1); }), Count(32, 31));
  EXPECT_EQ(conflicts([](const Bits&) { isa::st_shared<u32>(smem(8 * isa::tid_x()), 1); }), Count(2, 1));
  EXPECT_EQ(conflicts([](const Bits&) { isa::st_shared<U32x4>(smem(16 * isa::tid_x()), {}); }), Count(4, 0));
}

struct Pair {
  u32 in[3];
  u32* out;
};

// The results of all lanes agree; lane 0's are compared.
template <class Kernel>
u32 scalar(Kernel, u32 a, u32 b = 0, u32 c = 0, int sm = 90) {
  std::vector<u32> out(1);
  const Report report = run<Pair>({.threads = 32, .sm = sm}, {},
                                  [](const Pair& p) {
                                    const u32 r = Kernel{}(p.in[0], p.in[1], p.in[2]);
                                    if (isa::laneid() == 0) p.out[0] = r;
                                  },
                                  {{a, b, c}, out.data()});
  EXPECT_FALSE(report.fault) << text(report);
  return out[0];
}
u32 bits(f32 x) { return f32_bits(x); }
f32 value(u32 x) { return f32_from_bits(x); }

TEST(Scalar, MaxAndMinPreferNumbersAndOrderZeros) {
  const auto max = [](u32 a, u32 b, u32) { return f32_bits(isa::max(f32_from_bits(a), f32_from_bits(b))); };
  const auto min = [](u32 a, u32 b, u32) { return f32_bits(isa::min(f32_from_bits(a), f32_from_bits(b))); };
  EXPECT_EQ(scalar(max, bits(NAN), bits(3)), bits(3));
  EXPECT_EQ(scalar(max, bits(-3), bits(NAN)), bits(-3));
  EXPECT_EQ(scalar(max, bits(NAN), bits(-NAN)), 0x7fffffffU);
  EXPECT_EQ(scalar(max, bits(-0.0F), bits(0.0F)), bits(0.0F));
  EXPECT_EQ(scalar(min, bits(0.0F), bits(-0.0F)), bits(-0.0F));
  EXPECT_EQ(scalar(min, bits(2), bits(-7)), bits(-7));
}

TEST(Scalar, ConversionsAtTheirEdges) {
  const auto bf16x2 = [](u32 a, u32 b, u32) { return isa::cvt_rn_bf16x2(f32_from_bits(a), f32_from_bits(b)); };
  EXPECT_EQ(scalar(bf16x2, bits(1.0F), bits(-2.0F)), 0x3f80c000U);
  EXPECT_EQ(scalar(bf16x2, bits(NAN), 0x3f808000U), 0x7fff3f80U);  // tie to even
  EXPECT_EQ(scalar(bf16x2, 0x3f818000U, 0x7f7fffffU), 0x3f827f80U);
  const auto e4m3 = [](u32 a, u32 b, u32) {
    return u32{isa::cvt_rn_satfinite_e4m3x2(f32_from_bits(a), f32_from_bits(b))};
  };
  EXPECT_EQ(scalar(e4m3, bits(448), bits(1e9F)), 0x7e7eU);
  EXPECT_EQ(scalar(e4m3, bits(-INFINITY), bits(NAN)), 0xfe7fU);
  EXPECT_EQ(scalar(e4m3, bits(0x1p-9F), bits(0x1p-10F)), 0x0100U);      // smallest subnormal; half of it ties to 0
  EXPECT_EQ(scalar(e4m3, bits(0x1.8p-10F), bits(0x1.fp-7F)), 0x0108U);  // rounds up; carries into the normals
  EXPECT_EQ(scalar(e4m3, bits(17.0F), bits(19.0F)), 0x585aU);           // ties to even: 16 and 20
  const auto e5m2 = [](u32 a, u32 b, u32) {
    return u32{isa::cvt_rn_satfinite_e5m2x2(f32_from_bits(a), f32_from_bits(b))};
  };
  EXPECT_EQ(scalar(e5m2, bits(57344), bits(1e9F)), 0x7b7bU);
  const auto back = [](u32 a, u32, u32) { return isa::cvt_rn_f16x2_e4m3x2(static_cast<u16>(a)); };
  EXPECT_EQ(scalar(back, 0x7e01U), u32{f32_to_f16(448)} << 16U | f32_to_f16(0x1p-9F));
  const auto tf32 = [](u32 a, u32, u32) { return isa::cvt_rna_tf32(f32_from_bits(a)); };
  EXPECT_EQ(scalar(tf32, 0x3f801000U), 0x3f802000U);  // half away from zero
  EXPECT_EQ(scalar(tf32, 0xbf800fffU), 0xbf800000U);
}

TEST(Scalar, BitOperations) {
  const auto lop3 = [](u32 a, u32 b, u32 c) { return isa::lop3<0xe8>(a, b, c); };  // majority
  EXPECT_EQ(scalar(lop3, 0xf0f0ff00U, 0xff00f0f0U, 0x0ff0f00fU), 0xfff0f000U);
  const auto prmt = [](u32 a, u32 b, u32 c) { return isa::prmt(a, b, c); };
  EXPECT_EQ(scalar(prmt, 0x33221100U, 0x77665544U, 0x7531U), 0x77553311U);
  EXPECT_EQ(scalar(prmt, 0x00008000U, 0U, 0x0009U), 0x000000ffU);  // sign of byte 1 in byte 0; byte 0 elsewhere
  const auto high = [](u32 a, u32 b, u32) { return isa::umulhi(a, b); };
  EXPECT_EQ(scalar(high, 0xffffffffU, 0xffffffffU), 0xfffffffeU);
  const auto popc = [](u32 a, u32, u32) { return isa::popc(a); };
  EXPECT_EQ(scalar(popc, 0xf0f00001U), 9U);
}

TEST(Scalar, ExponentialAndItsFlush) {
  const auto ftz = [](u32 a, u32, u32) { return f32_bits(isa::ex2_approx_ftz(f32_from_bits(a))); };
  const auto kept = [](u32 a, u32, u32) { return f32_bits(isa::ex2_approx(f32_from_bits(a))); };
  EXPECT_EQ(scalar(ftz, bits(-INFINITY)), 0U);
  EXPECT_EQ(scalar(ftz, bits(10.0F)), bits(1024.0F));
  EXPECT_EQ(scalar(ftz, bits(-130.0F)), 0U);
  EXPECT_EQ(scalar(kept, bits(-130.0F)), bits(0x1p-130F));
  EXPECT_NEAR(value(scalar(ftz, bits(0.3F))), 1.2311444F, 1e-6F);
}

TEST(Scalar, PackedFusedMultiplyAddRoundsOnce) {
  const auto fma = [](u32 a, u32 b, u32 c) { return isa::fma_rn_bf16x2(a, b, c); };
  // (1 + 2^-7)^2 - 1 = 2^-6 + 2^-14: exact product, then one rounding to 8 bits.
  const u32 x = f32_to_bf16(1.0F + 0x1p-7F), minus = f32_to_bf16(-1.0F);
  EXPECT_EQ(scalar(fma, x << 16U | x, x << 16U | x, minus << 16U | minus) >> 16U, f32_to_bf16(0x1p-6F + 0x1p-14F));
}

TEST(Warp, ExchangeAndReduction) {
  std::vector<u32> out(32 * 8);
  const Report report = run<Bits>({.threads = 32, .sm = 90}, {},
                                  [](const Bits& p) {
                                    const u32 t = isa::laneid();
                                    u32* o = p.out + t * 8;
                                    o[0] = isa::shfl_bfly(t, 5);
                                    o[1] = isa::shfl_up(t, 3);
                                    o[2] = isa::shfl_down(t, 3);
                                    o[3] = isa::shfl_idx(t * t, 9);
                                    o[4] = isa::vote_ballot(t % 3 == 0);
                                    o[5] = isa::redux_add(t);
                                    o[6] = static_cast<u32>(isa::redux_min(static_cast<i32>(t) - 20));
                                    o[7] = isa::elect_sync() ? 1U : 0U;
                                  },
                                  {out.data()});
  ASSERT_FALSE(report.fault) << text(report);
  for (u32 t = 0; t < 32; ++t) {
    const u32* o = out.data() + t * 8;
    EXPECT_EQ(o[0], t ^ 5U);
    EXPECT_EQ(o[1], t < 3 ? t : t - 3);
    EXPECT_EQ(o[2], t > 28 ? t : t + 3);
    EXPECT_EQ(o[3], 81U);
    EXPECT_EQ(o[4], 0x49249249U);
    EXPECT_EQ(o[5], 496U);
    EXPECT_EQ(static_cast<i32>(o[6]), -20);
    EXPECT_EQ(o[7], t == 0 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace fovea::model_test
