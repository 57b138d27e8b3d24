// cp_async.h and bulk.h: data that arrives later, waited for by group or by mbarrier.
#pragma once

#include "slice.h"

namespace fovea::conformance {

// Per thread 16 words of data and a word that picks how many bytes are read; input padded to 20 words.
FOVEA_ENTRY(32, 1) copies(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 20);
  const u32 bytes = word(x, 16);
  const SmemPtr s{isa::smem_base() + 64 * isa::tid_x()};
  for (u32 i = 0; i < 16; ++i) isa::st_shared<u32>(s + 4 * i, 0xeeeeeeeeU);
  isa::cp_async_ca<4>(s, x, bytes % 5);
  isa::cp_async_commit_group();
  isa::cp_async_ca<8>(s + 16, x + 4, bytes % 9);
  isa::cp_async_ca<16>(s + 32, x + 8, bytes % 17);
  isa::cp_async_commit_group();
  isa::cp_async_cg(s + 48, x + 12, bytes / 32 % 17);
  isa::cp_async_commit_group();
  isa::cp_async_wait_group<1>();
  Sink sink{thread_slice(out, 17)};
  sink.put(isa::ld_shared<u32>(s + 32));
  isa::cp_async_wait_all();
  for (u32 i = 0; i < 16; ++i) sink.put(isa::ld_shared<u32>(s + 4 * i));
}

// Two barriers: the first counts the copies' arrivals, the second the threads' own after the copies' pairs.
FOVEA_ENTRY(32, 1) copies_mbarrier(const u32* in, u32* out) {
  const u32* x = thread_slice(in, 8);
  const u32 t = isa::tid_x();
  const SmemPtr counted{isa::smem_base()};
  const SmemPtr paired{isa::smem_base() + 8};
  const SmemPtr data{isa::smem_base() + 128};
  if (t == 0) {
    isa::mbarrier_init(counted, 32);
    isa::mbarrier_init(paired, 32);
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  isa::cp_async_cg(data + 16 * t, x, 16);
  isa::cp_async_mbarrier_arrive_noinc(counted);
  isa::cp_async_ca<16>(data + 512 + 16 * t, x + 4, 16);
  isa::cp_async_mbarrier_arrive(paired);
  isa::mbarrier_arrive(paired);
  Sink sink{thread_slice(out, 8)};
  isa::mbarrier_wait_parity(counted, 0);
  for (u32 i = 0; i < 4; ++i) sink.put(isa::ld_shared<u32>(data + 16 * (31 - t) + 4 * i));
  isa::mbarrier_wait_parity(paired, 0);
  for (u32 i = 0; i < 4; ++i) sink.put(isa::ld_shared<u32>(data + 512 + 16 * (31 - t) + 4 * i));
}

// 128 words in, changed by the threads, out again; then added twice to zeros.
FOVEA_ENTRY(32, 1) bulk(const u32* in, u32* out) {
  constexpr u32 kBytes = 512;
  const u32* x = cta_slice(in, 256);
  u32* y = cta_slice(out, 256);
  const u32 t = isa::tid_x();
  const SmemPtr m{isa::smem_base()};
  const SmemPtr a{isa::smem_base() + 128};
  const SmemPtr b = a + kBytes;
  if (t == 0) {
    isa::mbarrier_init(m, 1);
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  if (t == 0) {
    isa::mbarrier_arrive_expect_tx(m, 2 * kBytes);
    isa::bulk_load(a, x, kBytes, m);
    isa::bulk_load(b, x + 128, kBytes, m);
  }
  isa::mbarrier_wait_parity(m, 0);
  if (t == 0) {
    isa::bulk_reduce_add_f32(reinterpret_cast<f32*>(y + 128), a, kBytes);
    isa::bulk_reduce_add_f32(reinterpret_cast<f32*>(y + 128), b, kBytes);
    isa::bulk_commit_group();
    isa::bulk_wait_group_read<0>();
  }
  isa::syncthreads();
  for (u32 i = t; i < 128; i += 32) isa::st_shared<u32>(a + 4 * i, isa::ld_shared<u32>(a + 4 * i) ^ i);
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
  if (t == 0) {
    isa::bulk_store(y, a, kBytes);
    isa::bulk_commit_group();
    isa::bulk_wait_group<0>();
  }
}

}  // namespace fovea::conformance
