// fovea tune without a device: what it would try, how it decides, the row it writes, and processes that end badly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/tools/support.h"
#include "tools/fovea/tuning/agreement.h"
#include "tools/fovea/tuning/candidates.h"
#include "tools/fovea/tuning/measure.h"
#include "tools/fovea/tuning/row.h"
#include "tools/fovea/tuning/sweep.h"

namespace fovea::cli {
namespace {

// A device whose times are known: per tile, the times of its first, second, ... process; the last goes on.
class Bench {
 public:
  void add(const std::string& tile, const std::vector<std::vector<double>>& times) { times_[tile] = times; }
  Sample operator()(const std::string& tile) {
    const std::vector<std::vector<double>>& times = times_.at(tile);
    std::size_t& n = calls_[tile];
    const std::vector<double>& now = times[std::min(n++, times.size() - 1)];
    return now.empty() ? Sample{{}, "broke"} : Sample{now, ""};
  }
  std::size_t calls(const std::string& tile) const { return calls_.contains(tile) ? calls_.at(tile) : 0; }

 private:
  std::map<std::string, std::vector<std::vector<double>>> times_;
  std::map<std::string, std::size_t> calls_;
};

Decision decide(Bench& bench, const std::vector<std::string>& candidates) {
  return sweep(candidates, [&](const std::string& tile) { return bench(tile); });
}

TEST(Tune, TheFastestOfThreeMeasuredAgainWins) {
  Bench bench;
  bench.add("", {{1.0, 2.0}});
  bench.add("a", {{0.95, 1.9}});
  bench.add("b", {{0.90, 1.8}});
  bench.add("c", {{0.80, 1.6}, {0.99, 1.98}});  // looked fast once
  bench.add("d", {{1.5, 3.0}});
  const Decision decision = decide(bench, {"a", "b", "c", "d"});
  ASSERT_EQ(decision.accepted, 2);
  EXPECT_EQ(decision.contenders[2].tile, "b");
  EXPECT_NEAR(decision.contenders[2].gain, 1 / 0.9, 1e-9);
  EXPECT_EQ(decision.contenders[2].verdict, "accepted");
  EXPECT_EQ(decision.contenders[1].verdict, "second");
  EXPECT_EQ(decision.contenders[3].verdict, "gains less than 2%");
  EXPECT_EQ(decision.contenders[4].verdict, "slower than the finalists");
  EXPECT_EQ(bench.calls("b"), 1U + kFinalRounds);
  EXPECT_EQ(bench.calls("d"), 1U);
  EXPECT_EQ(bench.calls(""), 1U + kFinalRounds);
}

TEST(Tune, SmallGainsLossesAtALengthAndSpreadAreNotAccepted) {
  Bench bench;
  bench.add("", {{1.0, 2.0}});
  bench.add("small", {{0.985, 1.97}});
  bench.add("uneven", {{0.7, 2.1}});
  bench.add("noisy", {{0.9, 1.8}, {0.9, 1.8}, {1.0, 1.8}, {0.9, 1.8}});
  const Decision decision = decide(bench, {"small", "uneven", "noisy"});
  EXPECT_EQ(decision.accepted, -1);
  EXPECT_EQ(decision.contenders[1].verdict, "gains less than 2%");
  EXPECT_EQ(decision.contenders[2].verdict, "loses more than 2% at a length");
  EXPECT_EQ(decision.contenders[3].verdict, "its times spread by more than 10%");
  EXPECT_NEAR(decision.contenders[3].spread, 1.0 / 9, 1e-9);
  EXPECT_FALSE(decision.why.empty());
}

TEST(Tune, NothingIsDecidedOnANoisyMachineOrWithoutTimes) {
  Bench noisy;
  noisy.add("", {{1.0}, {1.0}, {1.2}, {1.0}});
  noisy.add("a", {{0.8}});
  EXPECT_EQ(decide(noisy, {"a"}).accepted, -1);
  Bench none;
  none.add("", {{}});
  const Decision decision = decide(none, {"a"});
  EXPECT_EQ(decision.accepted, -1);
  EXPECT_NE(decision.why.find("broke"), std::string::npos);
}

TEST(Tune, ACandidateThatBreaksIsLeftOutAndNamed) {
  Bench bench;
  bench.add("", {{1.0}});
  bench.add("a", {{}});
  bench.add("b", {{0.9}});
  const Decision decision = decide(bench, {"a", "b"});
  EXPECT_EQ(decision.accepted, 2);
  EXPECT_EQ(decision.contenders[1].verdict, "broke");
  Bench later;
  later.add("", {{1.0}});
  later.add("a", {{0.9}, {0.9}, {}});
  const Decision broken = decide(later, {"a"});
  EXPECT_EQ(broken.accepted, -1);
  EXPECT_NE(broken.why.find("broke"), std::string::npos);
}

TEST(Tune, CandidatesAreAllDifferent) {
  for (const auto& [kernel, count] : {std::pair{"fwd_wgmma", 36U}, std::pair{"fwd_mma", 64U}, std::pair{"cpu", 0U}}) {
    const std::vector<std::string> all = tile_candidates(kernel);
    EXPECT_EQ(all.size(), count);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), count);
  }
  const std::vector<std::string> wgmma = tile_candidates("fwd_wgmma");
  EXPECT_NE(std::find(wgmma.begin(), wgmma.end(), "tile_m=192,tile_n=128,stages=4"), wgmma.end());
}

TEST(Tune, RowsReadAsInTheSources) {
  TuneOptions options;
  options.shapes.head_dim = 64;
  options.features.causal = true;
  options.seqlens = {2048, 512};
  Measured present{.seconds = {1, 1},
                   .why = {},
                   .kernel = "fwd_wgmma",
                   .device = "NVIDIA H200",
                   .sm = 90,
                   .tile = {{"tile_m", 128}, {"tile_n", 128}, {"stages", 4}}};
  Contender winner;
  winner.gains = {1.041, 1.06};
  const std::string text = evidence(options, present, winner, "2026-11-29");
  EXPECT_EQ(text, "H200, 2026-11-29: causal S 2048, 512, 1.04, 1.06x the speed of 128 x 128 x 4");
  EXPECT_EQ(tuning_row(options, present, "why"), "WgmmaTuning{uneven, none, 64, 64, 512, 128, 128, 4, \"why\"},");
  options.shapes.head_dim = 96, options.shapes.head_dim_v = 40, options.shapes.bias_shape = {1, 1, 512, 512};
  EXPECT_EQ(tuning_row(options, present, "why"), "WgmmaTuning{uneven, bias, 128, 128, 512, 128, 128, 4, \"why\"},");
  options.shapes.head_dim = 192, options.shapes.head_dim_v = 64, options.shapes.mask_shape = {1, 1, 512, 512};
  EXPECT_EQ(tuning_row(options, present, "why"), "WgmmaTuning{uneven, both, 192, 128, 512, 128, 128, 4, \"why\"},");
  Measured mma{.seconds = {1},
               .why = {},
               .kernel = "fwd_mma",
               .device = "NVIDIA H200",
               .sm = 90,
               .tile = {{"tile_m", 64}, {"tile_n", 32}, {"stages", 3}, {"rows_per_warp", 16}, {"min_ctas", 2}}};
  options = {};
  options.shapes.head_dim = 96;
  EXPECT_EQ(tuning_row(options, mma, "why"), "MmaTuning{90, MmaUse::prefill, 128, 64, 32, 16, 3, 2, \"why\"},");
  options.shapes.bias_shape = {1, 1, 128, 128};
  EXPECT_NE(tuning_row(options, mma, "why").find("MmaUse::biased"), std::string::npos);
  options = {};
  options.shapes.seqlen_q = 1, options.shapes.heads_kv = 1;
  EXPECT_NE(tuning_row(options, mma, "why").find("MmaUse::decode"), std::string::npos);
}

TEST(Tune, TokensSetTheBatchOfEachLength) {
  TuneOptions options;
  options.seqlens = {1024, 3000};
  options.tokens = 4096;
  const std::vector<Shapes> shapes = shapes_of(options);
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0].batch, 4);
  EXPECT_EQ(shapes[0].seqlen_q, 1024);
  EXPECT_EQ(shapes[1].batch, 1);
}

TEST(Tune, AProcessGetsItsTileAndMayEndBadly) {
  const Measured sent{.seconds = {0.5}, .why = {}, .kernel = "k", .device = "d", .sm = 90, .tile = {{"tile_m", 64}}};
  const auto shell = [](const std::string& script, const std::string& tile = "") {
    return measure_in_process({"sh", "-c", script}, tile, 2);
  };
  const Measured got = shell("echo '" + to_json(sent) + "'");
  EXPECT_EQ(got.seconds, sent.seconds);
  EXPECT_EQ(got.tile, sent.tile);
  EXPECT_NE(shell("echo got $FOVEA_TILE", "stages=2").why.find("got stages=2"), std::string::npos);
  EXPECT_EQ(shell("exit 7").why, "its process ended with code 7");
  EXPECT_NE(shell("kill -SEGV $$").why.find("139"), std::string::npos);
  EXPECT_NE(shell("sleep 30").why.find("longer than 2 s"), std::string::npos);
  EXPECT_FALSE(shell("echo '[]'").why.empty());
  EXPECT_FALSE(shell("echo '{\"seconds\": \"1\"}'").why.empty());
}

TEST(Tune, WrongResultsAreSeen) {
  std::vector<float> out = {1.0F, -2.0F, 0.5F, 0.25F}, lse = {3.0F, -INFINITY};
  fovea_forward_args args{};
  args.q.dtype = args.out.dtype = args.lse.dtype = FOVEA_F32;
  args.out.data = out.data(), args.lse.data = lse.data();
  args.out.rank = 2, args.out.shape[0] = 2, args.out.shape[1] = 2, args.out.strides[0] = 2, args.out.strides[1] = 1;
  args.lse.rank = 1, args.lse.shape[0] = 2, args.lse.strides[0] = 1;
  const Outputs tuned = outputs_of(args);
  EXPECT_EQ(tuned.out, (std::vector<double>{1.0, -2.0, 0.5, 0.25}));
  EXPECT_EQ(disagreement(tuned, tuned, args), "");
  out[3] += 1e-6F, lse[0] += 1e-6F;
  EXPECT_EQ(disagreement(outputs_of(args), tuned, args), "");
  out[3] += 1e-4F;
  EXPECT_NE(disagreement(outputs_of(args), tuned, args).find("wrong out"), std::string::npos);
  out[3] = NAN;
  EXPECT_NE(disagreement(outputs_of(args), tuned, args).find("wrong out"), std::string::npos);
  out[3] = 0.25F, lse[1] = 0.0F;
  EXPECT_NE(disagreement(outputs_of(args), tuned, args).find("wrong lse"), std::string::npos);
}

TEST(Tune, NeedsADevice) {
  const testing::Ran ran = testing::fovea({"tune", "--dtype", "bf16", "--seqlens", "1024"});
  if (ran.code == 0) GTEST_SKIP() << "this machine has a CUDA device";
  EXPECT_EQ(ran.code, 4);
  EXPECT_NE(ran.err.find("NVIDIA GPU"), std::string::npos);
}

}  // namespace
}  // namespace fovea::cli
