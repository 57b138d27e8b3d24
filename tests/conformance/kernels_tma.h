// tma.h and tma_store.h: boxes inside, across and outside the tensors of maps.h, every swizzle, multicast to a pair.
// Slots of shared memory hold a pattern first, so that bytes that a load must leave alone are seen too.
// Left out, because the hardware may call them illegal: innermost coordinates whose byte offset is no multiple of 16,
// and stores at negative coordinates. The probes ask which of them it does (they are run alone and recorded nowhere).
#pragma once

#include "maps.h"
#include "slice.h"

namespace fovea::conformance {

FOVEA_INLINE void start_tma(u32 slots, SmemPtr mbar, u32 words) {
  for (u32 i = isa::tid_x(); i < words; i += 32) isa::st_shared<u32>(SmemPtr{slots + 4 * i}, 0x40000000U + i);
  if (isa::tid_x() == 0) {
    isa::mbarrier_init(mbar, 1);
    isa::fence_mbarrier_init();
  }
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
}

// Waits for the loads that `start` issues, and writes out what came.
template <class Start>
FOVEA_INLINE void run_loads(u32* out, const TensorMap* maps, u32 slots, Start start) {
  const SmemPtr slot{isa::smem_base()};
  const SmemPtr mbar = slot + slots * 1024;
  start_tma(slot.address, mbar, slots * 256);
  if (isa::tid_x() == 0) start(slot, maps + isa::ctaid_x() * kMapCount, mbar);
  isa::mbarrier_wait_parity(mbar, 0);
  dump_shared(cta_slice(out, slots * 256), slot.address, slots * 256);
}

FOVEA_ENTRY(32, 1) tma_load(const u32*, u32* out, const TensorMap* maps) {
  run_loads(out, maps, kTmaLoads, [](SmemPtr slot, const TensorMap* m, SmemPtr mbar) {
    isa::mbarrier_arrive_expect_tx(
        mbar, 2 * box_bytes(0) + 2 * box_bytes(1) + box_bytes(2) + box_bytes(3) + box_bytes(4) + box_bytes(5));
    isa::tma_load_1d(slot, m, mbar, -16);
    isa::tma_load_1d(slot + 1024, m, mbar, 960);
    isa::tma_load_2d(slot + 2 * 1024, m + 1, mbar, 0, 3);
    isa::tma_load_2d(slot + 3 * 1024, m + 1, mbar, 0, 36);
    isa::tma_load_2d(slot + 4 * 1024, m + 2, mbar, 24, -2);
    isa::tma_load_3d(slot + 5 * 1024, m + 3, mbar, 4, -1, 7);
    isa::tma_load_4d(slot + 6 * 1024, m + 4, mbar, 0, 3, 4, -1);
    isa::tma_load_5d(slot + 7 * 1024, m + 5, mbar, 4, -1, 2, 1, -1);
  });
}

FOVEA_ENTRY(32, 1) tma_load_hint(const u32*, u32* out, const TensorMap* maps) {
  run_loads(out, maps, kTmaHints, [](SmemPtr slot, const TensorMap* m, SmemPtr mbar) {
    constexpr u64 kEvictNormal = 0x1000000000000000ULL;
    isa::mbarrier_arrive_expect_tx(mbar, box_bytes(1) + box_bytes(3) + box_bytes(4));
    isa::tma_load_2d_hint(slot, m + 1, mbar, -8, 10, kEvictNormal);
    isa::tma_load_3d_hint(slot + 1024, m + 3, mbar, 8, 2, 3, kEvictNormal);
    isa::tma_load_4d_hint(slot + 2 * 1024, m + 4, mbar, 4, 1, 2, 3, kEvictNormal);
  });
}

FOVEA_ENTRY(32, 1) tma_prefetch(const u32*, u32* out, const TensorMap* maps) {
  run_loads(out, maps, 1, [](SmemPtr slot, const TensorMap* m, SmemPtr mbar) {
    isa::prefetch_tensormap(m + 1);
    isa::mbarrier_arrive_expect_tx(mbar, box_bytes(1));
    isa::tma_load_2d(slot, m + 1, mbar, 0, 5);
  });
}

// Boxes of `slot` stored; afterwards they can be read again.
FOVEA_INLINE void store_boxes(SmemPtr slot, const TensorMap* m) {
  isa::tma_store_1d(m + 6, slot, 60);
  isa::tma_store_2d(m + 7, slot + 1024, 16, 8);
  isa::tma_store_3d(m + 8, slot + 2 * 1024, 0, 4, 1);
  isa::tma_store_4d(m + 9, slot + 3 * 1024, 0, 2, 1, 2);
  isa::tma_store_5d(m + 10, slot + 4 * 1024, 0, 1, 2, 0, 2);
  isa::bulk_commit_group();
  isa::bulk_wait_group<0>();
}

FOVEA_ENTRY(32, 1) tma_store(const u32*, u32*, const TensorMap* maps) {
  const SmemPtr slot{isa::smem_base()};
  start_tma(slot.address, slot + 5 * 1024, 5 * 256);
  if (isa::tid_x() == 0) store_boxes(slot, maps + isa::ctaid_x() * kMapCount);
}

// Adds to parts of what the stores left, and to zeros beside it.
FOVEA_ENTRY(32, 1) tma_reduce(const u32*, u32*, const TensorMap* maps) {
  const SmemPtr slot{isa::smem_base()};
  start_tma(slot.address, slot + 5 * 1024, 5 * 256);
  if (isa::tid_x() != 0) return;
  const TensorMap* m = maps + isa::ctaid_x() * kMapCount;
  store_boxes(slot, m);
  isa::tma_reduce_add_1d(m + 6, slot, 32);
  isa::tma_reduce_add_2d(m + 7, slot + 1024, 12, 7);
  isa::tma_reduce_add_3d(m + 8, slot + 2 * 1024, 0, 3, 0);
  isa::tma_reduce_add_4d(m + 9, slot + 3 * 1024, 0, 1, 1, 1);
  isa::tma_reduce_add_5d(m + 10, slot + 4 * 1024, 0, 0, 1, 0, 1);
  isa::bulk_commit_group();
  isa::bulk_wait_group<0>();
}

// The first CTA of the pair loads for both, each in its own turn of ranks: masks 3, 1 and 2.
FOVEA_ENTRY(32, 1) tma_multicast(const u32*, u32* out, const TensorMap* maps) {
  const SmemPtr slot{isa::smem_base()};
  const SmemPtr mbar = slot + 3 * 1024;
  const TensorMap* m = maps + isa::ctaid_x() * kMapCount;
  start_tma(slot.address, mbar, 3 * 256);
  const u32 rank = isa::cluster_ctarank();
  if (isa::tid_x() == 0) {
    isa::mbarrier_arrive_expect_tx(mbar, box_bytes(1) + (rank == 0 ? box_bytes(3) : box_bytes(4)));
  }
  isa::cluster_arrive();
  isa::cluster_wait();
  if (isa::tid_x() == 0 && rank == 0) {
    isa::tma_load_2d_multicast(slot, m + 1, mbar, 0, 35, 3);
    isa::tma_load_3d_multicast(slot + 1024, m + 3, mbar, 4, 2, 3, 1);
    isa::tma_load_4d_multicast(slot + 2 * 1024, m + 4, mbar, 4, 1, 0, 2, 2);
  }
  isa::mbarrier_wait_parity(mbar, 0);
  dump_shared(cta_slice(out, 3 * 256), slot.address, 3 * 256);
  isa::cluster_arrive();
  isa::cluster_wait();
}

FOVEA_ENTRY(32, 1) probe_load_unaligned(const u32*, u32* out, const TensorMap* maps) {
  run_loads(out, maps, 1, [](SmemPtr slot, const TensorMap* m, SmemPtr mbar) {
    isa::mbarrier_arrive_expect_tx(mbar, box_bytes(0));
    isa::tma_load_1d(slot, m, mbar, 2);
  });
}

template <class Issue>
FOVEA_INLINE void probe_stores(const TensorMap* m, Issue issue) {
  const SmemPtr slot{isa::smem_base()};
  start_tma(slot.address, slot + 1024, 256);
  if (isa::tid_x() != 0) return;
  issue(m, slot);
  isa::bulk_commit_group();
  isa::bulk_wait_group<0>();
}

FOVEA_ENTRY(32, 1) probe_store_unaligned(const u32*, u32*, const TensorMap* maps) {
  probe_stores(maps, [](const TensorMap* m, SmemPtr slot) { isa::tma_store_1d(m + 6, slot, 2); });
}
FOVEA_ENTRY(32, 1) probe_reduce_unaligned(const u32*, u32*, const TensorMap* maps) {
  probe_stores(maps, [](const TensorMap* m, SmemPtr slot) { isa::tma_reduce_add_1d(m + 6, slot, 2); });
}
FOVEA_ENTRY(32, 1) probe_store_negative_column(const u32*, u32*, const TensorMap* maps) {
  probe_stores(maps, [](const TensorMap* m, SmemPtr slot) { isa::tma_store_2d(m + 7, slot, -4, 2); });
}
FOVEA_ENTRY(32, 1) probe_store_negative_row(const u32*, u32*, const TensorMap* maps) {
  probe_stores(maps, [](const TensorMap* m, SmemPtr slot) { isa::tma_store_2d(m + 7, slot, 4, -2); });
}

}  // namespace fovea::conformance
