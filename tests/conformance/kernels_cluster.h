// cluster.h and bulk_copy_cluster: two CTAs of one warp each, which write into each other's shared memory; and register
// reallocation and grid dependencies, which change nothing that a program can see.
#pragma once

#include "slice.h"

namespace fovea::conformance {

// Per CTA 64 words in. Shared memory: a barrier, 32 words stored plainly, 32 by st_async, 1 sum, 32 by bulk copy.
FOVEA_ENTRY(32, 1) cluster_pair(const u32* in, u32* out) {
  const u32* x = cta_slice(in, 64);
  const u32 t = isa::tid_x();
  const u32 rank = isa::cluster_ctarank();
  const SmemPtr base{isa::smem_base()};
  const SmemPtr plain = base + 128;
  const SmemPtr async = base + 256;
  const SmemPtr sum = base + 384;
  const SmemPtr copied = base + 512;
  const SmemPtr source = base + 640;
  if (t == 0) {
    isa::mbarrier_init(base, 33);
    isa::fence_mbarrier_init();
    isa::mbarrier_arrive_expect_tx(base, 128 + 128 + 128);
    isa::st_shared<u32>(sum, 5);
  }
  isa::st_shared<u32>(source + 4 * t, word(x, 32 + t));
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
  isa::cluster_arrive();
  isa::cluster_wait();

  const u32 peer = rank ^ 1U;
  isa::st_shared_cluster(isa::mapa(plain + 4 * t, peer), word(x, t));
  isa::st_async(isa::mapa(async + 4 * t, peer), word(x, t) + 1, isa::mapa(base, peer));
  isa::red_async_add(isa::mapa(sum, peer), t, isa::mapa(base, peer));
  isa::mbarrier_arrive_cluster(isa::mapa(base, peer));
  if (t == 0) isa::bulk_copy_cluster(isa::mapa(copied, peer), source, 128, isa::mapa(base, peer));
  isa::mbarrier_wait_parity(base, 0);
  isa::cluster_arrive();
  isa::cluster_wait();

  Sink sink{thread_slice(out, 7)};
  sink.put(rank);
  sink.put(isa::cluster_nctarank());
  sink.put(isa::ld_shared<u32>(plain + 4 * t));
  sink.put(isa::ld_shared<u32>(async + 4 * t));
  sink.put(isa::ld_shared<u32>(sum));
  sink.put(isa::ld_shared<u32>(copied + 4 * t));
  sink.put(isa::ld_shared_cluster(isa::mapa(plain + 4 * t, peer)));
  isa::cluster_arrive_relaxed();
  isa::cluster_wait();
}

// 384 threads start with 168 registers each: one warpgroup gives what the other two take. Without a programmatic launch
// before it, griddepcontrol.wait returns at once.
FOVEA_ENTRY(384, 1) reallocation(const u32* in, u32* out) {
  isa::griddepcontrol_wait();
  const u32 v = word(thread_slice(in, 1), 0);
  isa::griddepcontrol_launch_dependents();
  if (isa::tid_x() < 128) {
    isa::setmaxnreg_dec<24>();
  } else {
    isa::setmaxnreg_inc<240>();
  }
  Sink{thread_slice(out, 1)}.put(v);
}

}  // namespace fovea::conformance
