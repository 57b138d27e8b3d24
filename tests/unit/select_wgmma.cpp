// What fwd_wgmma serves, with which tiles, and what it leaves to fwd_mma.
#include <gtest/gtest.h>

#include <set>

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"
#include "select/tuning_wgmma.h"
#include "unit/select_problem.h"

namespace fovea::test {
namespace {

// What fwd_wgmma is asked for on sm_90, and what it must answer.
class SelectWgmma : public ::testing::Test {
 protected:
  SelectWgmma() {
    caps_.gpu = architecture_caps(90);
    caps_.gpu.model = true;
    plain_.out_dtype = FOVEA_BF16;
  }
  // Every refusal says what serves instead.
  void refused(const char* what, fovea_status status, const auto& change) const {
    Problem p = plain_;
    change(p);
    const Verdict verdict = supports_fwd_wgmma(p, caps_);
    EXPECT_FALSE(verdict.served) << what;
    EXPECT_EQ(verdict.refusal.status, status) << what;
    EXPECT_EQ(verdict.refusal.hint, "fwd_mma serves it") << what;
    expect_full(verdict.refusal);
    EXPECT_TRUE(supports_fwd_mma(p, caps_).served) << what;
  }

  Caps caps_;
  Problem plain_ = problem(FOVEA_BF16);
};

TEST_F(SelectWgmma, SendsWhatItLacksToFwdMma) {
  refused("mask", FOVEA_UNSUPPORTED, [](Problem& p) { p.mask = HeadMode::broadcast; });
  for (const int page_size : {1, 8, 24, 100}) {
    refused("pages", FOVEA_UNSUPPORTED, [&](Problem& p) { p.kv_layout = KvLayout::paged, p.page_size = page_size; });
  }
  refused("odd head dim", FOVEA_HEAD_DIM, [](Problem& p) { p.head_dim_v = 60; });
  refused("out", FOVEA_DTYPE, [](Problem& p) { p.out_dtype = FOVEA_F32; });
  refused("alignment", FOVEA_ALIGNMENT, [](Problem& p) { p.align_qkv = 8; });
  refused("backwards", FOVEA_ALIGNMENT, [](Problem& p) { p.forward_strides = false; });
  refused("out alignment", FOVEA_ALIGNMENT, [](Problem& p) { p.align_out = 8; });
  refused("decode", FOVEA_UNSUPPORTED, [](Problem& p) { p.seqlen_q = p.total_q = 1; });
  refused("splits", FOVEA_UNSUPPORTED, [](Problem& p) { p.requested_splits = 4; });
  refused("batch invariant", FOVEA_UNSUPPORTED, [](Problem& p) { p.batch_invariant = true; });
  caps_.gpu = architecture_caps(80);
  caps_.gpu.model = true;
  EXPECT_EQ(supports_fwd_wgmma(plain_, caps_).refusal.allowed, "SM90");
}

TEST_F(SelectWgmma, ServesBiasesThatTmaCanBring) {
  const auto bias = [](Problem& p) {
    p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_F16;
  };
  Problem biased = plain_;
  bias(biased);
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).bias, Element::fp16);
  Problem odd_mask = plain_;
  odd_mask.mask = HeadMode::broadcast, odd_mask.mask_reads = ViewReads::words, odd_mask.forbid_slow = true;
  EXPECT_TRUE(supports_fwd_wgmma(odd_mask, caps_).served) << "rows of a mask may begin anywhere";
  refused("bias of strided keys", FOVEA_UNSUPPORTED, [&](Problem& p) { bias(p), p.bias_reads = ViewReads::elements; });
  EXPECT_FALSE(fwd_wgmma_spec(biased).copies_bias());
  biased.mask = HeadMode::broadcast, biased.mask_reads = ViewReads::vectors, biased.softmax_scale = -1.0F;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).score, ScoreForm::masked_biased);
  EXPECT_FALSE(fwd_wgmma_spec(biased).transformed);
  biased.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_TRUE(fwd_wgmma_spec(biased).transformed);
  biased.bias = HeadMode::absent;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).score, ScoreForm::masked);
  EXPECT_TRUE(fwd_wgmma_spec(biased).transformed);
  refused("bias and odd mask", FOVEA_UNSUPPORTED, [&](Problem& p) { bias(p), p.mask = HeadMode::broadcast; });
}

// Those that TMA brings at every head dim; those that are copied where shared memory has room for their longer rows.
TEST_F(SelectWgmma, ServesMasksAndBiasesOfEveryHeadDim) {
  struct Bias {
    HeadMode mode;
    ViewReads reads;
    fovea_dtype dtype;
  };
  const std::int64_t room = architecture_caps(90).smem_bytes;
  for (const std::int64_t head_dim : {64, 128, 192, 256}) {
    for (const bool masked : {false, true}) {
      for (const Bias& bias : {Bias{HeadMode::absent, ViewReads::vectors, FOVEA_BF16},
                               Bias{HeadMode::broadcast, ViewReads::vectors, FOVEA_BF16},
                               Bias{HeadMode::broadcast, ViewReads::words, FOVEA_F16},
                               Bias{HeadMode::broadcast, ViewReads::vectors, FOVEA_F32},
                               Bias{HeadMode::broadcast, ViewReads::words, FOVEA_F32}}) {
        Problem p = plain_;
        p.head_dim_qk = p.head_dim_v = head_dim;
        if (masked) p.mask = HeadMode::broadcast, p.mask_reads = ViewReads::words;
        p.bias = bias.mode, p.bias_reads = bias.reads, p.bias_dtype = bias.dtype;
        const bool copied = bias.reads == ViewReads::words || bias.dtype == FOVEA_F32;
        const bool fits = head_dim <= 192 || !copied || (!masked && bias.dtype != FOVEA_F32);
        ASSERT_EQ(supports_fwd_wgmma(p, caps_).served, fits) << head_dim << masked << bias.dtype;
        if (!fits) continue;
        const FwdSpec spec = fwd_wgmma_spec(p);
        EXPECT_EQ(spec.copies_bias(), copied);
        EXPECT_TRUE(well_formed(spec)) << head_dim << masked << bias.dtype;
        EXPECT_LE(plan_smem(spec).bytes, room) << head_dim << masked << bias.dtype;
      }
    }
  }
}

TEST_F(SelectWgmma, ServesCallsOnSm90) {
  EXPECT_TRUE(supports_fwd_wgmma(plain_, caps_).served);
  Problem narrow = plain_;
  narrow.head_dim_qk = 96, narrow.head_dim_v = 40;
  EXPECT_TRUE(supports_fwd_wgmma(narrow, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(narrow).head_dim_v, 128);
  Problem wide = plain_;
  wide.head_dim_qk = 184, wide.head_dim_v = 128;
  EXPECT_TRUE(supports_fwd_wgmma(wide, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_qk, 192);
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_v, 128);
  EXPECT_EQ(fwd_wgmma_spec(wide).tile_n, 128);
  EXPECT_FALSE(fwd_wgmma_spec(wide).stages_out());
  wide.head_dim_v = 200;
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_qk, 256);
  Problem general = plain_;
  general.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(general, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(general).score, ScoreForm::general);
  general.softcap = 0.0F, general.softmax_scale = 0.0F;
  EXPECT_EQ(fwd_wgmma_spec(general).score, ScoreForm::general);
  Problem paged = plain_;
  paged.kv_layout = KvLayout::paged;
  for (const int head_dim : {128, 192, 256}) {
    paged.head_dim_qk = paged.head_dim_v = head_dim;
    for (const int page_size : {16, 32, 48, 64, 96, 128, 384}) {
      paged.page_size = page_size;
      EXPECT_TRUE(supports_fwd_wgmma(paged, caps_).served) << head_dim << " " << page_size;
      EXPECT_EQ(fwd_wgmma_spec(paged).loads, Loads::paged);
    }
  }
}

// fwd_mma splits their keys; where it has no kernel but its slow one they stay.
TEST_F(SelectWgmma, LeavesFewTilesOfManyKeysToFwdMma) {
  caps_.gpu.num_sms = 132;
  Problem few = plain_;  // 4 tiles
  Problem masked = few;
  masked.mask = HeadMode::broadcast, masked.mask_reads = ViewReads::vectors;
  Problem capped = masked;
  capped.softcap = 3.0F;
  for (const std::int64_t keys : {1024, 2048, 4096}) {
    few.seqlen_kv = masked.seqlen_kv = capped.seqlen_kv = keys;
    EXPECT_EQ(supports_fwd_wgmma(few, caps_).served, keys < 4096) << keys;
    EXPECT_EQ(supports_fwd_wgmma(masked, caps_).served, keys < 2048) << keys;
    EXPECT_TRUE(supports_fwd_wgmma(capped, caps_).served) << keys;
  }
  masked.batch = 11;  // 44 tiles
  EXPECT_TRUE(supports_fwd_wgmma(masked, caps_).served);
}

// Of 64 queries, where that was measured to be faster; not where fwd_mma would take its slow kernel.
TEST_F(SelectWgmma, LeavesTilesOf64RowsToFwdMma) {
  caps_.gpu.num_sms = 132;
  Problem p = plain_;
  p.batch = 20, p.num_heads_q = p.num_heads_kv = 8;
  p.seqlen_q = 64, p.seqlen_kv = 1024;
  const auto served = [&] { return supports_fwd_wgmma(p, caps_).served; };
  p.head_dim_qk = p.head_dim_v = 64;
  EXPECT_FALSE(served());
  p.softcap = 3.0F;
  EXPECT_TRUE(served()) << "not measured";
  p.softcap = 0.0F, p.head_dim_qk = p.head_dim_v = 128;
  EXPECT_TRUE(served());
  p.mask = HeadMode::broadcast, p.mask_reads = ViewReads::vectors;
  EXPECT_FALSE(served());
  p.seqlen_kv = 8192;
  EXPECT_TRUE(served());
  p.batch = 8, p.seqlen_kv = 1024;
  EXPECT_TRUE(served());
  p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_F32;
  EXPECT_FALSE(served());
  p.bias_reads = ViewReads::words;
  EXPECT_TRUE(served()) << "by words fwd_mma has its slow kernel alone";
  p.bias_reads = ViewReads::vectors, p.head_dim_qk = p.head_dim_v = 192;
  EXPECT_TRUE(served());
  p.head_dim_qk = p.head_dim_v = 128, p.seqlen_q = 65;
  EXPECT_TRUE(served());
}

TEST_F(SelectWgmma, LeavesSmallPagesOfNarrowHeadsToFwdMma) {
  Problem paged = plain_;
  paged.kv_layout = KvLayout::paged;
  paged.head_dim_qk = paged.head_dim_v = 64;
  for (const int page_size : {16, 32, 48, 64, 96, 128}) {
    paged.page_size = page_size;
    EXPECT_EQ(supports_fwd_wgmma(paged, caps_).served, page_size % 32 == 0) << page_size;
  }
  paged.page_size = 16, paged.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(paged, caps_).served) << "fwd_mma has no kernel of its own for it";
}

TEST_F(SelectWgmma, EveryTuningRowIsReachedIsWellFormedAndFits) {
  std::set<std::uint64_t> specs;
  Problem p = problem(FOVEA_BF16);
  p.num_heads_kv = p.num_heads_q;
  for (const std::int64_t head_dim : {64, 128, 192, 256}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t queries : {64, 1023, 1024, 2047, 2048, 8192, 16384}) {
        p.head_dim_qk = p.head_dim_v = head_dim;
        p.causal = causal;
        p.seqlen_q = queries;
        const FwdSpec spec = fwd_wgmma_spec(p);
        EXPECT_TRUE(well_formed(spec)) << head_dim << " " << queries;
        EXPECT_LE(plan_smem(spec).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
        specs.insert(digest(spec));
      }
    }
  }
  EXPECT_EQ(specs.size(), 5U);
  p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_BF16;
  for (const auto& [head_dim, queries, rows] :
       {std::tuple{64, 4095, 128}, std::tuple{64, 4096, 192}, std::tuple{128, 4096, 128}}) {
    for (const bool causal : {false, true}) {
      p.head_dim_qk = p.head_dim_v = head_dim, p.seqlen_q = queries, p.causal = causal;
      const FwdSpec spec = fwd_wgmma_spec(p);
      EXPECT_TRUE(well_formed(spec)) << head_dim << " " << queries;
      EXPECT_EQ(spec.tile_m, rows);
      EXPECT_LE(plan_smem(spec).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
      Problem both = p;
      both.mask = HeadMode::broadcast, both.mask_reads = ViewReads::vectors;
      EXPECT_TRUE(well_formed(fwd_wgmma_spec(both))) << head_dim << " " << queries;
      EXPECT_LE(plan_smem(fwd_wgmma_spec(both)).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
    }
  }
  p.bias = HeadMode::absent;
  p.head_dim_qk = p.head_dim_v = 64, p.causal = true;
  for (const auto& [queries, rows] :
       {std::pair{256, 128}, std::pair{511, 128}, std::pair{512, 192}, std::pair{8192, 192}}) {
    p.seqlen_q = queries;
    EXPECT_EQ(fwd_wgmma_spec(p).tile_m, rows) << queries;
  }
  p.causal = false;
  EXPECT_EQ(fwd_wgmma_spec(p).tile_m, 192);
  p.q_layout = QLayout::varlen, p.batch = 64, p.total_q = p.seqlen_q = 16384;
  EXPECT_EQ(fwd_wgmma_spec(p).tile_m, 128) << "256 queries in a sequence";
  for (const WgmmaTuning& row : kWgmmaTuning) EXPECT_FALSE(row.evidence.empty());
}

}  // namespace
}  // namespace fovea::test
