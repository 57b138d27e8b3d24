// Layout values against the closed forms of the PTX ISA's fragment tables, and the swizzle against its bank argument.
#include <gtest/gtest.h>

#include <vector>

#include "device/base/divisor.h"
#include "device/layout/fragment_map.h"
#include "device/layout/ldmatrix_pattern.h"
#include "device/layout/smem_tile.h"
#include "device/spec/fwd_spec.h"

namespace fovea::test {
namespace {

TEST(FragmentMap, equals_the_closed_forms_of_m16n8k16) {
  for (u32 t = 0; t < 32; ++t) {
    const u32 g = t / 4, q = t % 4;
    for (u32 r = 0; r < 4; ++r) {
      EXPECT_EQ(kMmaC32.row(kMmaC32.index(0, r, t)), g + 8 * (r / 2));
      EXPECT_EQ(kMmaC32.col(kMmaC32.index(0, r, t)), 2 * q + r % 2);
      for (u32 e = 0; e < 2; ++e) {
        EXPECT_EQ(kMmaA16.row(kMmaA16.index(e, r, t)), g + 8 * (r % 2));
        EXPECT_EQ(kMmaA16.col(kMmaA16.index(e, r, t)), 2 * q + e + 8 * (r / 2));
        if (r >= 2) continue;
        EXPECT_EQ(kMmaB16.row(kMmaB16.index(e, r, t)), g);
        EXPECT_EQ(kMmaB16.col(kMmaB16.index(e, r, t)), 2 * q + e + 8 * r);
      }
    }
  }
}

TEST(FragmentMap, wgmma_rows_run_over_four_warps) {
  for (u32 w = 0; w < 4; ++w) {
    for (u32 t = 0; t < 32; ++t) {
      for (u32 r = 0; r < 8; ++r) {
        const u32 index = kWgmmaD32N16.index(0, r, t, w);
        EXPECT_EQ(kWgmmaD32N16.row(index), 16 * w + t / 4 + 8 * ((r / 2) % 2));
        EXPECT_EQ(kWgmmaD32N16.col(index), 8 * (r / 4) + 2 * (t % 4) + r % 2);
      }
    }
  }
}

TEST(FragmentMap, a_packed_accumulator_is_a_16_bit_operand_and_no_8_bit_one) {
  EXPECT_EQ(packed_pair(kMmaC32), kMmaA16);
  EXPECT_FALSE(packed_pair(packed_pair(kMmaC32)) == kMmaA8);
}

TEST(Linear, inverse_undoes_and_composition_chains) {
  const Linear inverse_a = inverse(kMmaA16.map);
  for (u32 x = 0; x < 256; ++x) {
    EXPECT_EQ(inverse_a(kMmaA16.map(x)), x);
    EXPECT_EQ(compose(inverse_a, kMmaA16.map)(x), x);
  }
  EXPECT_EQ(compose(kMmaA16.map, inverse_a), identity(8));
  const Linear folded{.in_bits = 2, .out_bits = 2, .basis = {3, 3}};
  EXPECT_FALSE(is_bijection(folded));
}

TEST(SmemTile, elements_are_distinct_and_inside) {
  for (const SmemTile tile : {SmemTile{.rows = 64, .cols = 64}, {.rows = 32, .cols = 96}, {.rows = 16, .cols = 256}}) {
    std::vector<bool> taken(tile.bytes() / 2, false);
    for (u32 row = 0; row < static_cast<u32>(tile.rows); ++row) {
      for (u32 col = 0; col < static_cast<u32>(tile.cols); ++col) {
        const u32 offset = tile.offset(row, col);
        ASSERT_LT(offset, tile.bytes());
        ASSERT_EQ(offset % 2, 0U);
        EXPECT_FALSE(taken[offset / 2]);
        taken[offset / 2] = true;
      }
    }
  }
}

TEST(SmemTile, eight_rows_of_a_chunk_meet_eight_bank_groups) {
  const SmemTile tile{.rows = 64, .cols = 192};
  for (u32 row = 0; row < 64; row += 8) {
    for (u32 col = 0; col < 192; col += 8) EXPECT_EQ(distinct_bank_groups(tile, row, col), 8);
  }
}

TEST(FwdSpec, digest_changes_with_every_field) {
  const FwdSpec base;
  FwdSpec other[15];
  other[0].element = Element::fp16;
  other[1].head_dim_qk = 64;
  other[2].head_dim_v = 64;
  other[3].score = ScoreForm::general;
  other[4].tile_m = 64;
  other[5].tile_n = 32;
  other[6].rows_per_warp = 16;
  other[7].stages = 3;
  other[8].min_ctas = 2;
  other[9].store = Store::stmatrix;
  other[10].loads = Loads::any;
  other[11].rows = Rows::group;
  other[12].family = Family::wgmma;
  other[13].bias_tiles = true;
  other[14].transformed = true;
  for (const FwdSpec& spec : other) EXPECT_NE(digest(spec), digest(base));
}

TEST(FwdSpec, shared_memory_holds_every_part_apart) {
  for (const i32 dim : {16, 64, 96, 128, 192, 256}) {
    FwdSpec spec;
    spec.head_dim_qk = dim;
    spec.head_dim_v = 256 - dim / 2;
    const SmemPlan plan = plan_smem(spec);
    EXPECT_GE(plan.stage0, spec.q_tile().bytes());
    EXPECT_GE(plan.v_in_stage, spec.k_tile().bytes());
    EXPECT_GE(plan.stage_bytes, plan.v_in_stage + spec.v_tile().bytes());
    EXPECT_GE(plan.bytes, plan.stage0 + static_cast<u32>(spec.stages) * plan.stage_bytes);
    EXPECT_GE(plan.bytes, spec.o_tile().bytes());
    EXPECT_EQ(plan.stage0 % 1024, 0U);
    EXPECT_EQ(plan.stage_bytes % 1024, 0U);
  }
}

TEST(Divisor, rounds_down_next_to_every_multiple) {
  constexpr u32 kEnd = 1U << 31;  // numerators are below it
  std::vector<u32> divisors{kEnd - 1, kEnd};
  for (u32 d = 1; d <= 1000; ++d) divisors.push_back(d);
  for (u32 bit = 10; bit < 31; ++bit) divisors.insert(divisors.end(), {(1U << bit) - 1, 1U << bit, (1U << bit) + 1});
  for (const u32 d : divisors) {
    const Divisor by = divisor(d);
    const auto check = [&](u32 n) {
      if (n >= kEnd) return;
      ASSERT_EQ(static_cast<u32>(quotient(static_cast<i32>(n), by)), n / d) << n << " / " << d;
    };
    for (u32 n = 0; n < 100; ++n) check(n), check(kEnd - 1 - n);
    const u32 multiples = (kEnd - 1) / d;  // first, last, and some between
    for (u32 i = 1; i <= 64; ++i) {
      for (const u32 multiple : {i * d, (multiples + 1 - i) * d, static_cast<u32>(u64{multiples} * i / 64) * d}) {
        check(multiple - 1), check(multiple), check(multiple + 1);
      }
    }
  }
}

}  // namespace
}  // namespace fovea::test
