// Planted faults of memory accesses: each must be reported with its code and its place.
#include "kernel_run.h"

namespace fovea::model_test {
namespace {

struct Pointers {
  u32* a;
  u32* b;
};

SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

TEST(MemoryFaults, VectorLoadOfOddMaskRow) {
  std::vector<u16> mask(4095 * 2, 1);  // rows of 4095 elements: the second one is 2-byte aligned only
  struct Params {
    const u16* mask;
  } const params{mask.data()};
  const Report report = run<Params>(
      {.threads = 32}, {region(mask, "mask", false)},
      [](const Params& p) {
        const u32 column = isa::tid_x() * 8;
        isa::ld_global<U32x4>(p.mask + column);
        isa::ld_global<U32x4>(p.mask + 4095 + column);
      },
      params);
  EXPECT_TRUE(faults(report, Code::misaligned, {"ld.global", "mask", "lane"}));
}

TEST(MemoryFaults, GlobalOutOfBoundsNamesTheNearestRegion) {
  std::vector<u32> a(64), b(4);
  const Pointers params{a.data(), b.data()};
  const Report report = run<Pointers>(
      {.threads = 32}, {region(a, "input"), region(b, "other")},
      [](const Pointers& p) { isa::ld_global<u32>(p.a + 48 + isa::tid_x()); }, params);
  EXPECT_TRUE(faults(report, Code::out_of_bounds, {"thread 16", "0 bytes after the end of input (256 bytes)"}));
}

TEST(MemoryFaults, StoreToReadOnlyRegion) {
  std::vector<u32> a(64);
  const Pointers params{a.data(), nullptr};
  const Report report = run<Pointers>(
      {.threads = 32}, {region(a, "input", false)}, [](const Pointers& p) { isa::st_global<u32>(p.a, 1); }, params);
  EXPECT_TRUE(faults(report, Code::read_only, {"st.global", "input"}));
}

TEST(MemoryFaults, SharedOutOfBounds) {
  const Report report = run<Pointers>({.threads = 32, .smem_bytes = 128}, {},
                                      [](const Pointers&) { isa::st_shared<u32>(smem(4 + 4 * isa::tid_x()), 7); }, {});
  EXPECT_TRUE(faults(report, Code::out_of_bounds, {"st.shared", "thread 31", "0x480"}));
}

TEST(MemoryFaults, SharedMisaligned) {
  const Report report = run<Pointers>({.threads = 32, .smem_bytes = 1024}, {},
                                      [](const Pointers&) {
                                        isa::st_shared<U32x2>(smem(4), {1, 2});
                                      },
                                      {});
  EXPECT_TRUE(faults(report, Code::misaligned, {"st.shared of 8 bytes"}));
}

TEST(MemoryFaults, UninitialisedSharedMemory) {
  const Report report = run<Pointers>({.threads = 32, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        const u32 t = isa::tid_x();
                                        if (t != 9) isa::st_shared<u32>(smem(4 * t), t);
                                        isa::ld_shared<u32>(smem(4 * t));
                                      },
                                      {});
  EXPECT_TRUE(faults(report, Code::uninitialised_memory, {"thread 9", "0x424", "nobody wrote"}));
}

TEST(MemoryFaults, OneUninitialisedByteIsEnough) {
  const Report report = run<Pointers>({.threads = 32, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        if (isa::tid_x() != 0) return;
                                        isa::st_shared<u16>(smem(0), 1);
                                        isa::st_shared<u8>(smem(2), u8{1});
                                        isa::ld_shared<u32>(smem(0));
                                      },
                                      {});
  EXPECT_TRUE(faults(report, Code::uninitialised_memory, {"thread 0"}));
}

TEST(MemoryFaults, RaceBetweenWarps) {
  const Report report = run<Pointers>({.threads = 64, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        const u32 t = isa::tid_x();
                                        isa::st_shared<u32>(smem(4 * t), t);
                                        if (t < 32) isa::bar_warp_sync(~0U);
                                        isa::ld_shared<u32>(smem(4 * (t ^ 32U)));
                                      },
                                      {});
  // Whoever comes second meets the other's access, or memory that nobody wrote yet.
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::race || report.fault->code == Code::uninitialised_memory) << text(report);
}

TEST(MemoryFaults, WriteAfterReadWithoutBarrier) {
  const Report report = run<Pointers>({.threads = 64, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        const u32 t = isa::tid_x();
                                        isa::st_shared<u32>(smem(4 * t), t);
                                        isa::syncthreads();
                                        isa::ld_shared<u32>(smem(4 * (63 - t)));
                                        isa::st_shared<u32>(smem(4 * t), t + 1);  // another thread may still read
                                      },
                                      {});
  EXPECT_TRUE(faults(report, Code::race, {"no barrier orders the two"}));
}

TEST(MemoryFaults, DifferentBytesOfAWordAreNoRace) {
  const Report report = run<Pointers>({.threads = 64, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        isa::st_shared<u16>(smem(2 * isa::tid_x()), u16{3});
                                        isa::syncthreads();
                                        isa::ld_shared<u32>(smem(4 * (isa::tid_x() / 2)));
                                      },
                                      {});
  EXPECT_FALSE(report.fault) << text(report);
}

TEST(MemoryFaults, ShuffleOrdersNothing) {
  const Report report = run<Pointers>({.threads = 32, .smem_bytes = 256}, {},
                                      [](const Pointers&) {
                                        isa::st_shared<u32>(smem(4 * isa::tid_x()), 1);
                                        isa::shfl_bfly(1U, 1);
                                        isa::ld_shared<u32>(smem(4 * (isa::tid_x() ^ 1U)));
                                      },
                                      {});
  EXPECT_TRUE(faults(report, Code::race, {"ld.shared"}));
}

TEST(MemoryFaults, WarpSyncOrdersTheWarp) {
  for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 256})) {
    const Report report = run<Pointers>(config, {},
                                        [](const Pointers&) {
                                          isa::st_shared<u32>(smem(4 * isa::tid_x()), 1);
                                          isa::bar_warp_sync(~0U);
                                          isa::ld_shared<u32>(smem(4 * (isa::tid_x() ^ 1U)));
                                        },
                                        {});
    EXPECT_FALSE(report.fault) << text(report);
  }
}

TEST(MemoryFaults, MoreSharedMemoryThanTheArchitectureHas) {
  EXPECT_TRUE(faults(run<Pointers>({.threads = 32, .smem_bytes = 100 * 1024, .sm = 86}, {}, [](const Pointers&) {}, {}),
                     Code::launch_config, {"102400", "101376", "sm_86"}));
  EXPECT_FALSE(
      run<Pointers>({.threads = 32, .smem_bytes = 227 * 1024, .sm = 90}, {}, [](const Pointers&) {}, {}).fault);
}

}  // namespace
}  // namespace fovea::model_test
