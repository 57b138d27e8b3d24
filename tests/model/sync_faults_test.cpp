// Planted faults of synchronisation: copies, barriers, warp-wide instructions, registers nobody wrote.
#include "kernel_run.h"

namespace fovea::model_test {
namespace {

struct Params {
  const u32* in;
  u32* out;
};

SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

class SyncFaults : public testing::Test {
 protected:
  std::vector<u32> in_ = std::vector<u32>(256, 5);
  std::vector<u32> out_ = std::vector<u32>(256);
  Report run_kernel(const LaunchConfig& config, void (*kernel)(const Params&)) {
    return run<Params>(config, {region(in_, "in", false), region(out_, "out")}, kernel, {in_.data(), out_.data()});
  }
};

TEST_F(SyncFaults, CopyReadBeforeItsWait) {
  for (const LaunchConfig& config : adversaries({.threads = 32, .smem_bytes = 1024})) {
    const Report report = run_kernel(config, [](const Params& p) {
      const u32 t = isa::tid_x();
      isa::cp_async_cg(smem(16 * t), p.in + 4 * t, 16);
      isa::cp_async_commit_group();
      isa::ld_shared<u32>(smem(16 * t));
      isa::cp_async_wait_group<0>();
    });
    EXPECT_TRUE(faults(report, Code::copy_in_flight, {"ld.shared", "wait has not been executed"}));
  }
}

TEST_F(SyncFaults, CopyReadAfterAWaitForAnOlderGroup) {
  const Report report = run_kernel({.threads = 32, .smem_bytes = 1024}, [](const Params& p) {
    const u32 t = isa::tid_x();
    isa::cp_async_ca<8>(smem(16 * t), p.in + 4 * t, 8);
    isa::cp_async_commit_group();
    isa::cp_async_ca<8>(smem(16 * t + 8), p.in + 4 * t + 2, 8);
    isa::cp_async_commit_group();
    isa::cp_async_wait_group<1>();
    isa::ld_shared<u32>(smem(16 * t));
    isa::ld_shared<u32>(smem(16 * t + 8));
  });
  EXPECT_TRUE(faults(report, Code::copy_in_flight, {"0x408"}));
}

TEST_F(SyncFaults, CopyReadByAnotherThreadWithoutABarrier) {
  const Report report = run_kernel({.threads = 32, .smem_bytes = 1024}, [](const Params& p) {
    const u32 t = isa::tid_x();
    isa::cp_async_cg(smem(16 * t), p.in + 4 * t, 16);
    isa::cp_async_wait_all();
    isa::shfl_idx(t, 0);
    isa::ld_shared<u32>(smem(16 * (t ^ 1U)));
  });
  EXPECT_TRUE(faults(report, Code::race, {"no barrier orders"}));
}

TEST_F(SyncFaults, BarrierBeforeTheWaitDoesNotPublishTheCopy) {
  const Report report = run_kernel({.threads = 32, .smem_bytes = 1024}, [](const Params& p) {
    const u32 t = isa::tid_x();
    isa::cp_async_cg(smem(16 * t), p.in + 4 * t, 16);
    isa::cp_async_commit_group();
    isa::syncthreads();
    isa::cp_async_wait_group<0>();
    isa::ld_shared<u32>(smem(16 * (t ^ 1U)));
  });
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::race || report.fault->code == Code::copy_in_flight) << text(report);
}

TEST_F(SyncFaults, BarrierWithTooFewArrivalsIsADeadlockByName) {
  const Report report = run_kernel({.threads = 96, .smem_bytes = 64}, [](const Params&) {
    isa::set_role(isa::tid_x() < 32 ? "producer" : "consumer");
    if (isa::tid_x() < 64) {
      isa::bar_sync(3, 96);
    } else {
      isa::bar_sync(4, 64);
    }
  });
  EXPECT_TRUE(faults(report, Code::deadlock,
                     {"role producer", "role consumer", "bar 3, 64 of 96 threads arrived", "bar 4, 32 of 64"}));
}

TEST_F(SyncFaults, BarrierCountsThatDiffer) {
  const Report report = run_kernel({.threads = 64, .smem_bytes = 64},
                                   [](const Params&) { isa::bar_sync(1, isa::tid_x() < 32 ? 64 : 32); });
  ASSERT_TRUE(report.fault);
  EXPECT_TRUE(report.fault->code == Code::barrier_misuse || report.fault->code == Code::deadlock) << text(report);
}

TEST_F(SyncFaults, BarrierNumberAndMultiple) {
  EXPECT_TRUE(faults(run_kernel({.threads = 32}, [](const Params&) { isa::bar_sync(16, 32); }), Code::barrier_misuse,
                     {"bar.sync 16"}));
  EXPECT_TRUE(
      faults(run_kernel({.threads = 32}, [](const Params&) { isa::bar_sync(1, 48); }), Code::barrier_misuse, {"48"}));
}

TEST_F(SyncFaults, LaneThatSkipsACollective) {
  const Report report = run_kernel({.threads = 32}, [](const Params& p) {
    if (isa::laneid() == 5) return;
    p.out[isa::tid_x()] = isa::shfl_bfly(isa::tid_x(), 1);
  });
  EXPECT_TRUE(faults(report, Code::divergent_collective, {"shfl.sync", "lane 5", "exit"}));
}

TEST_F(SyncFaults, LanesAtDifferentCollectives) {
  const Report report = run_kernel({.threads = 32}, [](const Params&) {
    if (isa::laneid() == 7) {
      isa::vote_any(true);
    } else {
      isa::redux_add(1U);
    }
  });
  EXPECT_TRUE(faults(report, Code::divergent_collective, {"redux.sync", "vote.sync"}));
}

TEST_F(SyncFaults, AccumulatorNotInitialised) {
  const Report report = run_kernel({.threads = 32}, [](const Params&) {
    const Array<u32, 4> a{};
    const Array<u32, 2> b{};
    auto c = isa::undefined<Array<f32, 4>>();
    c[0] = c[1] = c[2] = 0.0F;
    isa::mma_m16n8k16_f32_bf16(a, b, c);
  });
  EXPECT_TRUE(faults(report, Code::uninitialised_register, {"mma.m16n8k16.f32.bf16", "accumulator"}));
}

TEST_F(SyncFaults, UndefinedSurvivesArithmetic) {
  const Report report = run_kernel({.threads = 32}, [](const Params&) {
    const f32 x = isa::undefined<f32>() * 2.0F + 1.0F;
    isa::cvt_rn_bf16x2(x, 0.0F);
  });
  EXPECT_TRUE(faults(report, Code::uninitialised_register, {"cvt"}));
}

TEST_F(SyncFaults, InstructionNewerThanTheArchitecture) {
  const auto stmatrix = [](const Params&) { isa::stmatrix_x1(smem(0), {{0}}); };
  EXPECT_TRUE(faults(run_kernel({.threads = 32, .smem_bytes = 512, .sm = 89}, stmatrix), Code::architecture,
                     {"stmatrix", "sm_90", "sm_89"}));
}

TEST_F(SyncFaults, PollingForeverIsReported) {
  const Report report = run_kernel({.threads = 32, .max_switches = 10000}, [](const Params& p) {
    while (isa::ld_acquire_gpu(p.out) == 0) {
    }
  });
  EXPECT_TRUE(faults(report, Code::runaway, {"10000"}));
}

TEST_F(SyncFaults, TrapIsAFault) {
  EXPECT_TRUE(faults(run_kernel({.grid_x = 2, .threads = 64},
                                [](const Params&) {
                                  if (isa::ctaid_x() == 1 && isa::tid_x() == 40) isa::trap();
                                }),
                     Code::trap, {"thread 40 (warp 1 lane 8) of cta (1,0,0)"}));
}

}  // namespace
}  // namespace fovea::model_test
