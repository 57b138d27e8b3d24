// A correct producer and consumer pipeline gives the same result whenever copies land and whichever warp runs first.
#include "kernel_run.h"

namespace fovea::model_test {
namespace {

constexpr u32 kTile = 256;  // words; one per thread
constexpr u32 kTiles = 9;
constexpr u32 kStages = 3;

struct Params {
  const u32* in;
  u32* out;
};

SmemPtr stage(u32 i) { return {isa::smem_base() + (i % kStages) * kTile * 4}; }

// Each thread copies one word of every tile, and sums words that its neighbours copied.
void ring(const Params& p) {
  const u32 t = isa::tid_x();
  for (u32 i = 0; i + 1 < kStages; ++i) {
    isa::cp_async_ca<4>(stage(i) + 4 * t, p.in + i * kTile + t, 4);
    isa::cp_async_commit_group();
  }
  u32 sum = 0;
  for (u32 i = 0; i < kTiles; ++i) {
    isa::cp_async_wait_group<kStages - 2>();
    isa::syncthreads();
    const u32 next = i + kStages - 1;
    if (next < kTiles) isa::cp_async_ca<4>(stage(next) + 4 * t, p.in + next * kTile + t, 4);
    isa::cp_async_commit_group();
    sum = sum * 3 + isa::ld_shared<u32>(stage(i) + 4 * ((t * 7 + 1) % kTile));
  }
  isa::st_global(p.out + t, sum);
}

TEST(Pipeline, RingOfCopiesIsIndependentOfLandingAndSchedule) {
  std::vector<u32> in(kTile * kTiles), out(kTile), expected(kTile);
  for (u32 i = 0; i < in.size(); ++i) in[i] = i * 2654435761U;
  for (u32 t = 0; t < kTile; ++t) {
    for (u32 i = 0; i < kTiles; ++i) expected[t] = expected[t] * 3 + in[i * kTile + (t * 7 + 1) % kTile];
  }
  for (const LaunchConfig& config : adversaries({.threads = kTile, .smem_bytes = kStages * kTile * 4})) {
    std::fill(out.begin(), out.end(), 0U);
    const Report report =
        run<Params>(config, {region(in, "in", false), region(out, "out")}, ring, {in.data(), out.data()});
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(report.counters.cp_async_bytes, in.size() * 4);
    EXPECT_EQ(report.counters.barriers, kTiles);
  }
}

// The same ring with one barrier too few: the copy overwrites a tile that others may still read.
TEST(Pipeline, RingWithOneStageTooFewIsARace) {
  std::vector<u32> in(kTile * kTiles), out(kTile);
  const Report report =
      run<Params>({.threads = kTile, .smem_bytes = kStages * kTile * 4}, {region(in, "in", false), region(out, "out")},
                  [](const Params& p) {
                    const u32 t = isa::tid_x();
                    isa::cp_async_ca<4>(stage(0) + 4 * t, p.in + t, 4);
                    for (u32 i = 0; i < kTiles; ++i) {
                      isa::cp_async_wait_all();
                      isa::syncthreads();
                      isa::ld_shared<u32>(stage(0) + 4 * ((t + 1) % kTile));
                      isa::cp_async_ca<4>(stage(0) + 4 * t, p.in + t, 4);
                    }
                  },
                  {in.data(), out.data()});
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::race || report.fault->code == Code::copy_in_flight) << text(report);
}

// mbarrier hand-over between warps, the empty barriers first waited for with parity 1.
void hand_over(const Params& p) {
  const u32 t = isa::tid_x();
  const SmemPtr full{isa::smem_base()}, empty{isa::smem_base() + 8}, data{isa::smem_base() + 128};
  if (t == 0) {
    isa::mbarrier_init(full, 32);
    isa::mbarrier_init(empty, 32);
  }
  isa::syncthreads();
  const bool producer = t < 32;
  isa::set_role(producer ? "producer" : "consumer");
  u32 sum = 0;
  for (u32 i = 0; i < 10; ++i) {
    if (producer) {
      isa::mbarrier_wait_parity(empty, (i & 1U) ^ 1U);
      isa::st_shared(data + 4 * t, isa::ld_global<u32>(p.in + i * 32 + t));
      isa::mbarrier_arrive(full);
    } else {
      isa::mbarrier_wait_parity(full, i & 1U);
      sum += (i + 1) * isa::ld_shared<u32>(data + 4 * (63 - t));
      isa::mbarrier_arrive(empty);
    }
  }
  if (!producer) isa::st_global(p.out + t - 32, sum);
}

TEST(Pipeline, MbarrierHandOver) {
  std::vector<u32> in(320), out(32), expected(32);
  for (u32 i = 0; i < 320; ++i) in[i] = i * i + 1;
  for (u32 t = 0; t < 32; ++t) {
    for (u32 i = 0; i < 10; ++i) expected[t] += (i + 1) * in[i * 32 + 31 - t];
  }
  for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 512, .sm = 90})) {
    const Report report =
        run<Params>(config, {region(in, "in", false), region(out, "out")}, hand_over, {in.data(), out.data()});
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(out, expected);
  }
}

TEST(Pipeline, MbarrierWithTooManyExpectedArrivalsDeadlocksByName) {
  const Report report = run<Params>({.threads = 64, .smem_bytes = 512, .sm = 90}, {},
                                    [](const Params&) {
                                      const SmemPtr full{isa::smem_base() + 16};
                                      if (isa::tid_x() == 0) isa::mbarrier_init(full, 33);
                                      isa::syncthreads();
                                      isa::set_role("consumer");
                                      if (isa::tid_x() < 32) {
                                        isa::mbarrier_arrive(full);
                                      } else {
                                        isa::mbarrier_wait_parity(full, 0);
                                      }
                                    },
                                    {});
  EXPECT_TRUE(faults(report, Code::deadlock,
                     {"role consumer", "mbarrier 0x410 for parity 0: phase 0, 32 of 33 arrivals seen"}));
}

TEST(Pipeline, MbarrierUsedWithoutABarrierAfterItsInit) {
  const Report report = run<Params>({.threads = 32, .smem_bytes = 512, .sm = 90}, {},
                                    [](const Params&) {
                                      const SmemPtr full{isa::smem_base()};
                                      if (isa::tid_x() == 0) isa::mbarrier_init(full, 32);
                                      isa::shfl_idx(1U, 0);
                                      isa::mbarrier_arrive(full);
                                    },
                                    {});
  EXPECT_TRUE(faults(report, Code::race, {"mbarrier.arrive", "initialised"}));
}

TEST(Pipeline, MbarrierReinitialisedWhileLive) {
  const Report report = run<Params>({.threads = 32, .smem_bytes = 512, .sm = 90}, {},
                                    [](const Params&) {
                                      if (isa::tid_x() != 0) return;
                                      isa::mbarrier_init({isa::smem_base()}, 1);
                                      isa::mbarrier_init({isa::smem_base()}, 1);
                                    },
                                    {});
  EXPECT_TRUE(faults(report, Code::mbarrier_misuse, {"mbarrier.inval first"}));
}

TEST(Pipeline, CpAsyncArrivesOnAnMbarrier) {
  std::vector<u32> in(32), out(32);
  for (u32 i = 0; i < 32; ++i) in[i] = i + 100;
  for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 512, .sm = 90})) {
    const Report report = run<Params>(config, {region(in, "in", false), region(out, "out")},
                                      [](const Params& p) {
                                        const u32 t = isa::tid_x();
                                        const SmemPtr full{isa::smem_base()}, data{isa::smem_base() + 128};
                                        if (t == 0) isa::mbarrier_init(full, 32);
                                        isa::syncthreads();
                                        if (t < 32) {
                                          isa::cp_async_ca<4>(data + 4 * t, p.in + t, 4);
                                          isa::cp_async_mbarrier_arrive_noinc(full);
                                        } else {
                                          isa::mbarrier_wait_parity(full, 0);
                                          isa::st_global(p.out + t - 32, isa::ld_shared<u32>(data + 4 * (t - 32)));
                                        }
                                      },
                                      {in.data(), out.data()});
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(out, in);
  }
}

}  // namespace
}  // namespace fovea::model_test
