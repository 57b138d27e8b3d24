// A warp-specialised product as kernels for SM90 are written: one producer thread, TMA into a ring of stages, full and
// empty mbarriers, two consumer warpgroups with wgmma, the result through stmatrix and a TMA store. It must run clean
// under every landing and schedule; each line left out must be a fault.
#include <random>

#include "kernel_run.h"
#include "model/tensor_map.h"

namespace fovea::model_test {
namespace {

constexpr u32 kStages = 2, kSteps = 5, kRows = 128, kCols = 64, kDepth = 64 * kSteps;
constexpr u32 kStageBytes = (kRows + kCols) * 128;
constexpr u32 kFull = 0, kEmpty = 64, kRing = 1024, kOut = kRing + kStages * kStageBytes;
constexpr u32 kSmem = kOut + kRows * 128;

enum class Mistake { none, no_empty_wait, no_full_wait, release_before_wait, no_output_fence, short_expect };

struct Params {
  TensorMap a, b, out;
};

SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }
SmemPtr full(u32 i) { return smem(kFull + 8 * (i % kStages)); }
SmemPtr empty(u32 i) { return smem(kEmpty + 8 * (i % kStages)); }
u32 stage(u32 i) { return kRing + i % kStages * kStageBytes; }

u64 descriptor(u32 offset) {
  const u64 start = ((isa::smem_base() + offset) & 0x3ffffU) >> 4U;
  return start | 1ULL << 16U | (1024ULL >> 4U) << 32U | 1ULL << 62U;
}

template <Mistake kMistake>
void produce(const Params& p) {
  isa::set_role("producer");
  isa::setmaxnreg_dec<24>();
  if (isa::tid_x() != 0) return;
  for (u32 i = 0; i < kSteps; ++i) {
    if (kMistake != Mistake::no_empty_wait) isa::mbarrier_wait_parity(empty(i), (i / kStages & 1U) ^ 1U);
    isa::mbarrier_arrive_expect_tx(full(i), kMistake == Mistake::short_expect ? kStageBytes - 16 : kStageBytes);
    isa::tma_load_2d(smem(stage(i)), &p.a, full(i), static_cast<i32>(64 * i), 0);
    isa::tma_load_2d(smem(stage(i) + kRows * 128), &p.b, full(i), static_cast<i32>(64 * i), 0);
  }
}

template <Mistake kMistake>
void consume(const Params& p) {
  isa::set_role("consumer");
  isa::setmaxnreg_inc<240>();
  const u32 thread = isa::tid_x() - 128, group = thread / 128;
  auto d = isa::undefined<Array<f32, kCols / 2>>();
  for (u32 i = 0; i < kSteps; ++i) {
    if (kMistake != Mistake::no_full_wait) isa::mbarrier_wait_parity(full(i), i / kStages & 1U);
    isa::wgmma_fence();
    for (u32 k = 0; k < 4; ++k) {
      isa::wgmma_m64k16_f32_bf16_ss<kCols, 0, 0>(d, descriptor(stage(i) + group * 64 * 128 + 32 * k),
                                                 descriptor(stage(i) + kRows * 128 + 32 * k), i + k != 0);
    }
    isa::wgmma_commit_group();
    if (kMistake == Mistake::release_before_wait) {
      if (thread % 128 == 0) isa::mbarrier_arrive(empty(i));
      isa::wgmma_wait_group<0>();
    } else {
      isa::wgmma_wait_group<0>();
      if (thread % 128 == 0) isa::mbarrier_arrive(empty(i));
    }
  }
  // Accumulators of 16 columns are four 8 x 8 matrices; lane l names the row of one.
  const u32 row = thread / 32 * 16 + isa::laneid() % 16;
  for (u32 n = 0; n < kCols / 16; ++n) {
    Array<u32, 4> packed{};
    for (u32 r = 0; r < 4; ++r) packed.v[r] = isa::cvt_rn_bf16x2(d.v[8 * n + 2 * r + 1], d.v[8 * n + 2 * r]);
    isa::stmatrix_x4(smem(kOut + row * 128 + ((2 * n + isa::laneid() / 16) ^ (row & 7U)) * 16), packed);
  }
  if (kMistake != Mistake::no_output_fence) isa::fence_proxy_async_shared_cta();
  isa::bar_sync(1, 256);
  if (thread != 0) return;
  isa::tma_store_2d(&p.out, smem(kOut), 0, 0);
  isa::bulk_commit_group();
  isa::bulk_wait_group_read<0>();
}

template <Mistake kMistake>
void kernel(const Params& p) {
  if (isa::tid_x() == 0) {
    for (u32 i = 0; i < kStages; ++i) {
      isa::mbarrier_init(full(i), 1);
      isa::mbarrier_init(empty(i), 2);
    }
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  if (isa::tid_x() < 128) {
    produce<kMistake>(p);
  } else {
    consume<kMistake>(p);
  }
}

class WarpSpecialised : public testing::Test {
 protected:
  WarpSpecialised() {
    std::mt19937 random(11);
    for (u16& x : a_) x = f32_to_bf16(static_cast<f32>(static_cast<int>(random() % 5) - 2));
    for (u16& x : b_) x = f32_to_bf16(static_cast<f32>(static_cast<int>(random() % 5) - 2));
    encode(params_.a, a_, kDepth, kRows);
    encode(params_.b, b_, kDepth, kCols);
    encode(params_.out, out_, kCols, kRows);
  }
  static void encode(TensorMap& to, std::vector<u16>& values, u32 cols, u32 rows) {
    model::TiledMap map;
    map.base = values.data();
    map.dim[0] = cols;
    map.dim[1] = rows;
    map.stride[0] = cols * 2;
    map.box[0] = 64;
    map.box[1] = rows;
    map.swizzle = model::MapSwizzle::bytes_128;
    EXPECT_EQ(model::encode_tiled(&to, map), "");
  }
  template <Mistake kMistake>
  Report run_kernel(LaunchConfig config) {
    config.threads = 384;
    config.smem_bytes = kSmem;
    config.sm = 90;
    return run<Params>(config, {region(a_, "a", false), region(b_, "b", false), region(out_, "out")}, kernel<kMistake>,
                       params_);
  }
  template <Mistake kMistake>
  void expect_fault(const std::vector<Code>& codes) {
    for (const LaunchConfig& config : adversaries({})) {
      const Report report = run_kernel<kMistake>(config);
      ASSERT_TRUE(report.fault);
      EXPECT_NE(std::find(codes.begin(), codes.end(), report.fault->code), codes.end()) << text(report);
    }
  }
  std::vector<u16> a_ = std::vector<u16>(kRows * kDepth), b_ = std::vector<u16>(kCols * kDepth);
  std::vector<u16> out_ = std::vector<u16>(kRows * kCols);
  Params params_{};
};

TEST_F(WarpSpecialised, RunsCleanUnderEveryAdversary) {
  std::vector<u16> expected(out_.size());
  for (u32 m = 0; m < kRows; ++m) {
    for (u32 n = 0; n < kCols; ++n) {
      f32 sum = 0;
      for (u32 k = 0; k < kDepth; ++k) sum += bf16_to_f32(a_[m * kDepth + k]) * bf16_to_f32(b_[n * kDepth + k]);
      expected[m * kCols + n] = f32_to_bf16(sum);
    }
  }
  for (const LaunchConfig& config : adversaries({})) {
    std::fill(out_.begin(), out_.end(), u16{0x7fff});
    const Report report = run_kernel<Mistake::none>(config);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(out_, expected);
    EXPECT_EQ(report.counters.wgmma, 2U * 4U * kSteps);
  }
}

TEST_F(WarpSpecialised, EachMistakeIsAFault) {
  expect_fault<Mistake::no_empty_wait>({Code::race, Code::copy_in_flight, Code::mbarrier_misuse});
  expect_fault<Mistake::no_full_wait>({Code::copy_in_flight, Code::uninitialised_memory});
  expect_fault<Mistake::release_before_wait>({Code::race});
  expect_fault<Mistake::no_output_fence>({Code::missing_proxy_fence});
  expect_fault<Mistake::short_expect>({Code::deadlock, Code::mbarrier_misuse});
}

}  // namespace
}  // namespace fovea::model_test
