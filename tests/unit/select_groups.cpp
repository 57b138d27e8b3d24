// When a tile's rows are those of a group of heads (pack-GQA), and which GPU kernel takes calls of few rows.
#include <gtest/gtest.h>

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"

namespace fovea {
namespace {

// A decoding step of a few tokens: 16 queries, 8 query heads on each kv head.
class SelectGroups : public ::testing::Test {
 protected:
  SelectGroups() {
    caps_.gpu = architecture_caps(90);
    caps_.gpu.model = true;
    plain_.dtype = plain_.out_dtype = FOVEA_BF16, plain_.head_dim_qk = plain_.head_dim_v = 64;
    caps_.gpu.num_sms = 132;
    plain_.batch = 16, plain_.num_heads_q = 32, plain_.num_heads_kv = 4;
    plain_.seqlen_q = plain_.total_q = 16, plain_.seqlen_kv = 4096;
  }
  void refused(const char* what, const auto& change) const {
    Problem p = plain_;
    change(p);
    const Verdict verdict = supports_fwd_wgmma(p, caps_);
    EXPECT_FALSE(verdict.served) << what;
    EXPECT_EQ(verdict.refusal.hint, "fwd_mma serves it") << what;
    EXPECT_TRUE(supports_fwd_mma(p, caps_).served) << what;
  }

  Caps caps_;
  Problem plain_;
};

TEST_F(SelectGroups, FillTilesWithTheRowsOfAGroup) {
  EXPECT_TRUE(supports_fwd_wgmma(plain_, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(plain_).rows, Rows::group);
  // As many tiles as without: nothing to gain.
  Problem whole = plain_;
  whole.seqlen_q = whole.total_q = 128;
  EXPECT_EQ(fwd_wgmma_spec(whole).rows, Rows::head);
  whole.seqlen_q = whole.total_q = 130;
  EXPECT_EQ(fwd_wgmma_spec(whole).rows, Rows::group);
  whole.num_heads_kv = 32;
  EXPECT_EQ(fwd_wgmma_spec(whole).rows, Rows::head);
  // Boxes of TMA hold whole groups; a mask is looked at head by head; packed sequences end in the middle of a box.
  for (const auto& change : {+[](Problem& p) { p.num_heads_q = 28; }, +[](Problem& p) { p.num_heads_q = 128; },
                             +[](Problem& p) { p.mask = HeadMode::broadcast, p.mask_reads = ViewReads::vectors; },
                             +[](Problem& p) { p.q_layout = QLayout::varlen, p.total_q = 256; }}) {
    Problem p = plain_;
    change(p);
    EXPECT_EQ(fwd_wgmma_spec(p).rows, Rows::head);
  }
}

TEST_F(SelectGroups, LeaveFewTilesOfManyKeysToSplits) {
  refused("4 tiles of 4096 keys", [](Problem& p) { p.batch = 1; });
  refused("64 rows", [](Problem& p) { p.seqlen_q = p.total_q = 8; });
  refused("28 heads on 4", [](Problem& p) { p.num_heads_q = 28; });
  refused("4 heads",
          [](Problem& p) { p.batch = 1, p.num_heads_q = p.num_heads_kv = 4, p.seqlen_q = p.total_q = 1024; });
  Problem short_keys = plain_;
  short_keys.batch = 1, short_keys.seqlen_kv = 1024;
  EXPECT_TRUE(supports_fwd_wgmma(short_keys, caps_).served);
}

// fwd_mma fills its tiles in the same way, with groups of any size.
TEST_F(SelectGroups, FillTilesOfFwdMma) {
  Problem p = plain_;
  EXPECT_EQ(fwd_mma_spec(p, caps_.gpu).rows, Rows::group);
  p.num_heads_q = 28;
  EXPECT_EQ(fwd_mma_spec(p, caps_.gpu).rows, Rows::group);
  EXPECT_GT(fwd_mma_spec(p, caps_.gpu).tile_m, 64);
  p.batch_invariant = true;
  EXPECT_EQ(fwd_mma_spec(p, caps_.gpu).rows, Rows::head);
  p.batch_invariant = false, p.seqlen_q = p.total_q = 128;
  EXPECT_EQ(fwd_mma_spec(p, caps_.gpu).rows, Rows::head);
}

// Few rows with a mask or a bias in whole vectors: one kernel for all of these calls. Others take the universal one.
TEST_F(SelectGroups, OfFewRowsHaveViewsInAKernelOfTheirOwn) {
  Problem masked = plain_;
  masked.seqlen_q = masked.total_q = 1;
  masked.mask = HeadMode::broadcast, masked.mask_reads = ViewReads::vectors;
  const FwdSpec few = fwd_mma_spec(masked, caps_.gpu);
  EXPECT_EQ(few.rows, Rows::group);
  EXPECT_EQ(few.loads, Loads::vector);
  EXPECT_TRUE(few.open_views());
  EXPECT_FALSE(supports_fwd_mma(masked, caps_).slow);
  for (const fovea_dtype dtype : {FOVEA_BF16, FOVEA_F32}) {
    Problem biased = masked;
    biased.bias = HeadMode::q_head, biased.bias_dtype = dtype, biased.bias_reads = ViewReads::vectors;
    EXPECT_EQ(fwd_mma_spec(biased, caps_.gpu), few);
    biased.softcap = 30.0F;
    EXPECT_EQ(fwd_mma_spec(biased, caps_.gpu), few);
    biased.mask = HeadMode::absent;
    EXPECT_EQ(fwd_mma_spec(biased, caps_.gpu), few);
    biased.bias = HeadMode::absent;
    EXPECT_EQ(fwd_mma_spec(biased, caps_.gpu), few) << "softcap alone";
    EXPECT_FALSE(supports_fwd_mma(biased, caps_).slow);
  }
  const auto universal = [&](auto change) {
    Problem p = masked;
    change(p);
    EXPECT_EQ(fwd_mma_spec(p, caps_.gpu).loads, Loads::any);
    EXPECT_TRUE(supports_fwd_mma(p, caps_).slow);
  };
  universal([](Problem& p) { p.mask_reads = ViewReads::words; });
  universal([](Problem& p) { p.kv_layout = KvLayout::paged, p.page_size = 64; });
  universal([](Problem& p) { p.head_dim_qk = p.head_dim_v = 256; });
}

}  // namespace
}  // namespace fovea
