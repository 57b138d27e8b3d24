// wgmma: operands by descriptor against plain matrix products, and the rules of what is in flight.
#include <random>

#include "kernel_run.h"

namespace fovea::model_test {
namespace {

constexpr u32 kA = 0;         // 64 x 64, rows of 128 bytes, swizzled
constexpr u32 kB = 8 * 1024;  // 64 x 64, the same
SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

struct Params {
  const u16* a;  // [m][k], 64 x 64
  const u16* b;  // [row][col] as it lies in shared memory, 64 x 64
  f32* d;        // 64 x 64
};
using Accumulators = Array<f32, 32>;

// Descriptor fields from the manual: start, LBO, SBO in 16-byte units, code 1 for the 128-byte swizzle.
u64 descriptor(u32 offset, u32 lbo, u32 sbo) {
  const u64 start = ((isa::smem_base() + offset) & 0x3ffffU) >> 4U;
  return start | static_cast<u64>(lbo >> 4U) << 16U | static_cast<u64>(sbo >> 4U) << 32U | 1ULL << 62U;
}

void stage_operands(const Params& p, bool fence) {
  for (u32 i = isa::tid_x(); i < 64 * 8; i += 128) {
    const u32 row = i / 8, chunk = i % 8, at = row * 128 + (chunk ^ (row & 7U)) * 16;
    isa::st_shared(smem(kA + at), isa::ld_global<U32x4>(p.a + i * 8));
    isa::st_shared(smem(kB + at), isa::ld_global<U32x4>(p.b + i * 8));
  }
  if (fence) isa::fence_proxy_async();
  isa::syncthreads();
}

void write_result(const Params& p, const Accumulators& d) {
  const u32 w = isa::tid_x() / 32, g = isa::laneid() / 4, q = isa::laneid() % 4;
  for (u32 i = 0; i < 32; ++i) {
    const u32 m = 16 * w + g + 8 * (i / 2 % 2), n = 8 * (i / 4) + 2 * q + i % 2;
    isa::st_global(p.d + m * 64 + n, d.v[i]);
  }
}

// D = A B^T, B stored [n][k]; four k16 steps in one group.
template <bool kProxyFence, bool kFence, bool kWait>
void k_major(const Params& p) {
  stage_operands(p, kProxyFence);
  auto d = isa::undefined<Accumulators>();
  if (kFence) isa::wgmma_fence();
  for (u32 k = 0; k < 4; ++k) {
    isa::wgmma_m64k16_f32_bf16_ss<64, 0, 0>(d, descriptor(kA + 32 * k, 16, 1024), descriptor(kB + 32 * k, 16, 1024),
                                            k != 0);
  }
  isa::wgmma_commit_group();
  if (kWait) isa::wgmma_wait_group<0>();
  write_result(p, d);
  if (!kWait) isa::wgmma_wait_group<0>();
}

// D = A B, B stored [k][n]: MN-major; A from registers, read like an mma fragment.
void mn_major_rs(const Params& p) {
  stage_operands(p, true);
  Accumulators d{};
  const u32 row = isa::tid_x() / 32 * 16 + isa::laneid() % 16, chunk = isa::laneid() / 16;
  for (u32 k = 0; k < 4; ++k) {
    const Array<u32, 4> a = isa::ldmatrix_x4(smem(kA + row * 128 + ((2 * k + chunk) ^ (row & 7U)) * 16));
    isa::wgmma_fence();
    isa::wgmma_m64k16_f32_bf16_rs<64, 1>(d, a, descriptor(kB + 2048 * k, 8192, 1024), true);
    isa::wgmma_commit_group();
  }
  isa::wgmma_wait_group<0>();
  write_result(p, d);
}

class WgmmaTest : public testing::Test {
 protected:
  WgmmaTest() {
    std::mt19937 random(3);
    for (u16& x : a_) x = f32_to_bf16(static_cast<f32>(static_cast<int>(random() % 9) - 4));
    for (u16& x : b_) x = f32_to_bf16(static_cast<f32>(static_cast<int>(random() % 9) - 4));
  }
  Report run_kernel(LaunchConfig config, void (*kernel)(const Params&)) {
    config.threads = 128;
    config.smem_bytes = 16 * 1024;
    config.sm = 90;
    return run<Params>(config, {region(a_, "a", false), region(b_, "b", false), region(d_, "d")}, kernel,
                       {a_.data(), b_.data(), d_.data()});
  }
  std::vector<f32> product(bool b_is_kn) const {
    std::vector<f32> d(64 * 64);
    for (u32 m = 0; m < 64; ++m) {
      for (u32 n = 0; n < 64; ++n) {
        for (u32 k = 0; k < 64; ++k) {
          d[m * 64 + n] += bf16_to_f32(a_[m * 64 + k]) * bf16_to_f32(b_[b_is_kn ? k * 64 + n : n * 64 + k]);
        }
      }
    }
    return d;
  }
  std::vector<u16> a_ = std::vector<u16>(4096), b_ = std::vector<u16>(4096);
  std::vector<f32> d_ = std::vector<f32>(4096);
};

TEST_F(WgmmaTest, KMajorOperandsFromSharedMemory) {
  for (const LaunchConfig& config : adversaries({})) {
    d_.assign(4096, -1.0F);
    const Report report = run_kernel(config, k_major<true, true, true>);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(d_, product(false));
    EXPECT_EQ(report.counters.wgmma, 4U);
  }
}

TEST_F(WgmmaTest, MnMajorWithAFromRegisters) {
  for (const LaunchConfig& config : adversaries({})) {
    d_.assign(4096, -1.0F);
    const Report report = run_kernel(config, mn_major_rs);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(d_, product(true));
  }
}

TEST_F(WgmmaTest, MissingProxyFence) {
  for (const LaunchConfig& config : adversaries({})) {
    EXPECT_TRUE(faults(run_kernel(config, k_major<false, true, true>), Code::missing_proxy_fence,
                       {"wgmma.mma_async", "fence.proxy.async"}));
  }
}

TEST_F(WgmmaTest, MissingWgmmaFence) {
  EXPECT_TRUE(faults(run_kernel({}, k_major<true, false, true>), Code::accumulator_in_flight, {"wgmma.fence"}));
}

TEST_F(WgmmaTest, AccumulatorReadBeforeTheWait) {
  for (const LaunchConfig& config : adversaries({})) {
    EXPECT_TRUE(faults(run_kernel(config, k_major<true, true, false>), Code::accumulator_in_flight,
                       {"st.global", "has not been waited for"}));
  }
}

TEST_F(WgmmaTest, AccumulatorNotInitialised) {
  const Report report = run_kernel({}, [](const Params& p) {
    stage_operands(p, true);
    auto d = isa::undefined<Accumulators>();
    isa::wgmma_fence();
    isa::wgmma_m64k16_f32_bf16_ss<64, 0, 0>(d, descriptor(kA, 16, 1024), descriptor(kB, 16, 1024), true);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  });
  EXPECT_TRUE(faults(report, Code::uninitialised_register, {"wgmma.mma_async", "accumulator"}));
}

TEST_F(WgmmaTest, OperandOverwrittenBeforeTheWait) {
  for (const LaunchConfig& config : adversaries({})) {
    const Report report = run_kernel(config, [](const Params& p) {
      stage_operands(p, true);
      auto d = isa::undefined<Accumulators>();
      isa::wgmma_fence();
      isa::wgmma_m64k16_f32_bf16_ss<64, 0, 0>(d, descriptor(kA, 16, 1024), descriptor(kB, 16, 1024), false);
      isa::wgmma_commit_group();
      isa::syncthreads();
      if (isa::tid_x() == 5) isa::st_shared<u32>(smem(kB), 1);
      isa::wgmma_wait_group<0>();
    });
    EXPECT_TRUE(faults(report, Code::race, {"st.shared", "wgmma of a warpgroup"}));
  }
}

TEST_F(WgmmaTest, WarpThatSkipsTheProduct) {
  const Report report = run_kernel({}, [](const Params& p) {
    stage_operands(p, true);
    auto d = isa::undefined<Accumulators>();
    isa::wgmma_fence();
    if (isa::tid_x() < 96) {
      isa::wgmma_m64k16_f32_bf16_ss<64, 0, 0>(d, descriptor(kA, 16, 1024), descriptor(kB, 16, 1024), false);
    }
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  });
  EXPECT_TRUE(faults(report, Code::divergent_collective, {"wgmma"}));
}

TEST_F(WgmmaTest, OnlyOnSm90) {
  const Report report = run<Params>({.threads = 128, .sm = 100}, {}, [](const Params&) { isa::wgmma_fence(); }, {});
  EXPECT_TRUE(faults(report, Code::architecture, {"wgmma", "sm_90a"}));
}

}  // namespace
}  // namespace fovea::model_test
