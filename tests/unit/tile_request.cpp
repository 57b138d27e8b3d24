// FOVEA_TILE: its text, and what a choice makes of it.
#include "core/tile_request.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/plan.h"
#include "select/fwd_wgmma.h"

namespace fovea {
namespace {

TEST(TileRequest, TextsAreReadAndWritten) {
  const auto request = parse_tile_request("stages=4,tile_m=192");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request.value(), (TileRequest{.tile_m = 192, .stages = 4}));
  EXPECT_EQ(to_string(request.value()), "tile_m=192,stages=4");
  EXPECT_FALSE(parse_tile_request("").value().any());
  for (const char* text : {"tile_m", "tile_m=", "tile_m=x", "tile_m=-1", "tile_m=1025", "tile_m=1 ", " tile_m=1", "m=1",
                           "tile_m=1,tile_m=1", "tile_m=1,", ",tile_m=1", "tile_m=1,,stages=2", "tile_m=99999999999"}) {
    const auto refused = parse_tile_request(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().status, FOVEA_CONFIG);
  }
}

RC_GTEST_PROP(TileRequest, AnyTextIsRefusedOrReadsBack, (const std::string& noise)) {
  const std::string piece = *rc::gen::element<std::string>("tile_m=", "stages=1", ",", "min_ctas=", "8", noise);
  const auto request = parse_tile_request(piece + *rc::gen::element<std::string>("2", ",", "min_ctas=1", noise));
  if (request.ok()) RC_ASSERT(parse_tile_request(to_string(request.value())).value() == request.value());
}

Problem dense(std::int64_t head_dim) {
  Problem p;
  p.dtype = p.out_dtype = FOVEA_BF16;
  p.batch = 1, p.num_heads_q = p.num_heads_kv = 4;
  p.head_dim_qk = p.head_dim_v = head_dim;
  p.seqlen_q = p.seqlen_kv = p.total_q = 4096;
  p.align_qkv = p.align_out = 16;
  p.unit_stride_d = p.forward_strides = true;
  return p;
}

Result<Choice> chosen(const Problem& p, const char* tile, int sm = 90) {
  Caps caps;
  caps.model = architecture_caps(sm);
  caps.model.model = true;
  caps.tile = parse_tile_request(tile).value();
  return choose(p, caps, FOVEA_BACKEND_MODEL);
}

TEST(TileRequest, TakesThePlaceOfTunedFieldsAlone) {
  const Choice tuned = chosen(dense(64), "").value();
  EXPECT_EQ(tuned.spec.tile_m, 192);
  Choice wanted = tuned;
  wanted.spec.tile_m = 128, wanted.spec.stages = 3;
  EXPECT_EQ(chosen(dense(64), "tile_m=128,stages=3").value(), wanted);
  const Choice mma = chosen(dense(64), "tile_n=64,rows_per_warp=16,min_ctas=1", 80).value();
  EXPECT_EQ(mma.kernel, KernelId::fwd_mma);
  EXPECT_EQ(mma.spec.rows_per_warp, 16);
  Caps caps;
  caps.model = architecture_caps(90);
  EXPECT_NE(make_plan(dense(64), tuned, caps).digest, make_plan(dense(64), wanted, caps).digest);
}

TEST(TileRequest, PagesNeedNotDivideAStep) {
  Problem paged = dense(128);
  paged.kv_layout = KvLayout::paged;
  paged.page_size = 128;
  const auto choice = chosen(paged, "tile_n=96", 90);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice.value().kernel, KernelId::fwd_wgmma);
}

TEST(TileRequest, WhatNoKernelHasIsRefused) {
  Problem masked = dense(128);
  masked.mask = HeadMode::broadcast, masked.mask_reads = ViewReads::vectors;
  struct Case {
    Problem problem;
    const char* tile;
    int sm;
  };
  for (const Case& c :
       {Case{dense(64), "tile_m=256", 90}, Case{dense(64), "tile_m=192,tile_n=64,stages=2", 90},
        Case{dense(128), "tile_m=192,stages=2", 90}, Case{dense(64), "stages=5", 90}, Case{dense(64), "min_ctas=2", 90},
        Case{dense(64), "rows_per_warp=32", 90}, Case{dense(256), "tile_n=128", 90}, Case{masked, "tile_n=96", 90},
        Case{dense(64), "rows_per_warp=8", 80}, Case{dense(128), "stages=16", 86}, Case{dense(64), "tile_m=0", 80},
        Case{dense(64), "min_ctas=0", 80}, Case{dense(64), "tile_n=0", 80}, Case{dense(64), "tile_m=0", 90},
        Case{dense(64), "tile_n=0", 90}}) {
    const auto refused = chosen(c.problem, c.tile, c.sm);
    ASSERT_FALSE(refused.ok()) << c.tile;
    EXPECT_EQ(refused.error().status, FOVEA_UNSUPPORTED);
    EXPECT_NE(refused.error().asked.find(c.tile), std::string::npos) << refused.error().asked;
  }
}

}  // namespace
}  // namespace fovea
