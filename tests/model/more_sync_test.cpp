// Further rules of barriers, and fp8 products: arrivals beyond the count, partial warp barriers, bar.red, producers
// that only arrive, remote memory after a CTA has exited.
#include "kernel_run.h"

namespace fovea::model_test {
namespace {

struct Params {
  u32* out;
};
SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

TEST(Barriers, ArriveWithoutWaitingAndReductions) {
  std::vector<u32> out(192);
  for (const LaunchConfig& config : adversaries({.threads = 96, .smem_bytes = 512})) {
    const Report report = run<Params>(config, {region(out, "out")},
                                      [](const Params& p) {
                                        const u32 t = isa::tid_x();
                                        if (t < 32) {
                                          isa::st_shared<u32>(smem(4 * t), 50 + t);
                                          isa::bar_arrive(2, 64);
                                        } else if (t < 64) {
                                          isa::bar_sync(2, 64);
                                          isa::st_global(p.out + t, isa::ld_shared<u32>(smem(4 * (63 - t))));
                                        }
                                        isa::st_global(p.out + 96 + t, isa::bar_red_popc(0, 96, t % 3 == 0));
                                        if (isa::bar_red_or(1, 96, t == 77) && t == 0) isa::st_global(p.out, 1U);
                                      },
                                      {out.data()});
    ASSERT_FALSE(report.fault) << text(report);
    for (u32 t = 32; t < 64; ++t) EXPECT_EQ(out[t], 50 + 63 - t);
    for (u32 t = 0; t < 96; ++t) EXPECT_EQ(out[96 + t], 32U);
    EXPECT_EQ(out[0], 1U);
  }
}

TEST(Barriers, ArrivingOrdersNothingForTheArriver) {
  const Report report = run<Params>({.threads = 64, .smem_bytes = 512}, {},
                                    [](const Params&) {
                                      const u32 t = isa::tid_x();
                                      isa::st_shared<u32>(smem(4 * t), t);
                                      if (t < 32) {
                                        isa::bar_arrive(2, 64);
                                      } else {
                                        isa::bar_sync(2, 64);
                                      }
                                      isa::ld_shared<u32>(smem(4 * (t ^ 32U)));
                                    },
                                    {});
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::race || report.fault->code == Code::uninitialised_memory) << text(report);
}

TEST(Barriers, HalfWarpsSynchroniseApart) {
  for (const LaunchConfig& config : adversaries({.threads = 32, .smem_bytes = 512})) {
    const Report report = run<Params>(config, {},
                                      [](const Params&) {
                                        const u32 t = isa::tid_x();
                                        isa::st_shared<u32>(smem(4 * t), t);
                                        isa::bar_warp_sync(t < 16 ? 0xffffU : 0xffff0000U);
                                        isa::ld_shared<u32>(smem(4 * (t ^ 1U)));
                                      },
                                      {});
    EXPECT_FALSE(report.fault) << text(report);
  }
  const Report report = run<Params>({.threads = 32, .smem_bytes = 512}, {},
                                    [](const Params&) {
                                      const u32 t = isa::tid_x();
                                      isa::st_shared<u32>(smem(4 * t), t);
                                      isa::bar_warp_sync(t < 16 ? 0xffffU : 0xffff0000U);
                                      isa::ld_shared<u32>(smem(4 * (t ^ 16U)));
                                    },
                                    {});
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::race || report.fault->code == Code::uninitialised_memory) << text(report);
}

TEST(Mbarrier, MoreArrivalsThanItsCount) {
  const Report report = run<Params>({.threads = 32, .smem_bytes = 512, .sm = 90}, {},
                                    [](const Params&) {
                                      if (isa::tid_x() != 0) return;
                                      isa::mbarrier_init(smem(0), 4);
                                      isa::mbarrier_arrive_n(smem(0), 3);
                                      isa::mbarrier_arrive_n(smem(0), 2);
                                    },
                                    {});
  EXPECT_TRUE(faults(report, Code::mbarrier_misuse, {"2 arrivals with 1 pending of 4 in phase 0"}));
}

TEST(Mbarrier, PlainAccessAndMissingInit) {
  const auto store = [](const Params&) {
    if (isa::tid_x() != 0) return;
    isa::mbarrier_init(smem(0), 4);
    isa::st_shared<u32>(smem(4), 0);
  };
  EXPECT_TRUE(faults(run<Params>({.threads = 32, .smem_bytes = 64}, {}, store, {}), Code::mbarrier_misuse,
                     {"0x404", "holds an mbarrier"}));
  const auto arrive = [](const Params&) { isa::mbarrier_arrive(smem(8)); };
  EXPECT_TRUE(faults(run<Params>({.threads = 32, .smem_bytes = 64}, {}, arrive, {}), Code::mbarrier_misuse,
                     {"no mbarrier is initialised"}));
}

TEST(Mbarrier, DropLowersTheCountOfLaterPhases) {
  const Report report = run<Params>({.threads = 64, .smem_bytes = 64, .sm = 90}, {},
                                    [](const Params&) {
                                      if (isa::tid_x() == 0) isa::mbarrier_init(smem(0), 33);
                                      isa::syncthreads();
                                      if (isa::tid_x() == 63) isa::mbarrier_arrive_drop(smem(0));
                                      for (u32 i = 0; i < 3 && isa::tid_x() < 32; ++i) {
                                        isa::mbarrier_arrive(smem(0));
                                        isa::mbarrier_wait_parity(smem(0), i & 1U);
                                      }
                                    },
                                    {});
  EXPECT_FALSE(report.fault) << text(report);
}

// Reading a peer's memory needs the peer to be alive: a cluster barrier at the end is missing.
TEST(Clusters, RemoteReadAfterThePeerHasExited) {
  bool seen = false;
  for (u64 seed = 0; seed < 20; ++seed) {
    const Report report =
        run<Params>({.grid_x = 2, .cluster = 2, .threads = 32, .smem_bytes = 256, .sm = 90, .seed = seed}, {},
                    [](const Params&) {
                      const u32 t = isa::tid_x();
                      isa::st_shared<u32>(smem(4 * t), t);
                      isa::cluster_arrive();
                      isa::cluster_wait();
                      if (isa::cluster_ctarank() == 0) isa::ld_shared_cluster(isa::mapa(smem(4 * t), 1));
                    },
                    {});
    if (report.fault) {
      seen = true;
      EXPECT_TRUE(faults(report, Code::out_of_bounds, {"rank 1, which has exited"}));
    }
  }
  EXPECT_TRUE(seen);
}

// e4m3 ones give K; SM89 keeps 13 fraction bits below the largest product, so the addend 2^-14 is lost there.
TEST(Mma, EightBitFloats) {
  std::vector<u32> out(32);
  const auto kernel = [](const Params& p) {
    const u32 ones = 0x38383838U;
    const Array<f32, 4> d =
        isa::mma_m16n8k32_f32_e4m3({{ones, ones, ones, ones}}, {{ones, ones}}, {{0x1p-14F, 0.0F, 0.5F, 1024.0F}});
    isa::st_global(p.out, f32_bits(d.v[0]));
    isa::st_global(p.out + 1, f32_bits(d.v[2]));
  };
  for (const int sm : {89, 120}) {
    const Report report = run<Params>({.threads = 32, .sm = sm}, {region(out, "out")}, kernel, {out.data()});
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(f32_from_bits(out[0]), sm == 89 ? 32.0F : 32.0F + 0x1p-14F);
    EXPECT_EQ(f32_from_bits(out[1]), 32.5F);
  }
  EXPECT_TRUE(faults(run<Params>({.threads = 32, .sm = 80}, {region(out, "out")}, kernel, {out.data()}),
                     Code::architecture, {"sm_89"}));
}

}  // namespace
}  // namespace fovea::model_test
