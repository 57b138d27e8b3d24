// barrier.h and mbarrier.h.
#pragma once

#include "slice.h"

namespace fovea::conformance {

// Warps 0 and 1 write, 2 and 3 read, handing over by bar.arrive and bar.sync; then reductions over all.
FOVEA_ENTRY(128, 1) barriers(const u32* in, u32* out) {
  const u32 v = word(thread_slice(in, 1), 0);
  const SmemPtr s{isa::smem_base()};
  const u32 t = isa::tid_x();
  Sink sink{thread_slice(out, 5)};
  if (t < 64) {
    isa::st_shared<u32>(s + 4 * t, v);
    isa::bar_arrive(3, 128);
    sink.put(v);
  } else {
    isa::bar_sync(3, 128);
    sink.put(isa::ld_shared<u32>(s + 4 * (t - 64)));
  }
  sink.put(isa::bar_red_popc(4, 128, (v & 1U) != 0));
  sink.put(isa::bar_red_or(5, 128, v % 100 == 0));
  isa::membar_cta();
  isa::membar_gl();
  isa::fence_acq_rel_cluster();
  isa::fence_proxy_async();
  isa::syncthreads();
  if (t % 2 == 0) isa::st_shared<u32>(s + 4 * t, v ^ 0x55U);
  isa::bar_warp_sync(0xffffffffU);
  sink.put(isa::ld_shared<u32>(s + 4 * (t & ~1U)));
  isa::bar_sync(1, 128);
  sink.put(isa::ld_shared<u32>(s + 4 * (126 - (t & ~1U))));
}

// The state machine, step by step, in one thread. The words are what tests and counts said after each step.
FOVEA_ENTRY(32, 1) mbarrier_steps(const u32*, u32* out) {
  if (isa::tid_x() != 0) return;
  const SmemPtr m{isa::smem_base()};
  Sink sink{cta_slice(out, 32)};
  isa::mbarrier_init(m, 3);
  isa::fence_mbarrier_init();
  sink.put(isa::mbarrier_test_wait_parity(m, 0));
  sink.put(isa::mbarrier_test_wait_parity(m, 1));
  const u64 first = isa::mbarrier_arrive(m);
  sink.put(isa::mbarrier_pending_count(first));
  const u64 second = isa::mbarrier_arrive(m);
  sink.put(isa::mbarrier_pending_count(second));
  sink.put(isa::mbarrier_test_wait(m, first));
  const u64 third = isa::mbarrier_arrive(m);
  sink.put(isa::mbarrier_pending_count(third));
  sink.put(isa::mbarrier_test_wait(m, first));
  sink.put(isa::mbarrier_test_wait_parity(m, 0));
  sink.put(isa::mbarrier_test_wait_parity(m, 1));
  isa::mbarrier_arrive_n(m, 2);
  isa::mbarrier_arrive_expect_tx(m, 48);
  sink.put(isa::mbarrier_test_wait_parity(m, 1));
  isa::mbarrier_complete_tx(m, 32);
  sink.put(isa::mbarrier_test_wait_parity(m, 1));
  isa::mbarrier_complete_tx(m, 16);
  sink.put(isa::mbarrier_try_wait_parity(m, 1));
  isa::mbarrier_wait_parity(m, 1);
  isa::mbarrier_expect_tx(m, 8);
  isa::mbarrier_arrive_drop(m);
  isa::mbarrier_arrive_n(m, 2);
  sink.put(isa::mbarrier_test_wait_parity(m, 0));
  isa::mbarrier_complete_tx(m, 8);
  sink.put(isa::mbarrier_test_wait_parity(m, 0));
  const u64 dropped = isa::mbarrier_arrive(m);
  sink.put(isa::mbarrier_pending_count(dropped));
  isa::mbarrier_arrive_drop(m);
  sink.put(isa::mbarrier_test_wait(m, dropped));
  sink.put(isa::mbarrier_pending_count(isa::mbarrier_arrive(m)));
  sink.put(isa::mbarrier_test_wait_parity(m, 0));
  isa::mbarrier_inval(m);
}

}  // namespace fovea::conformance
