// Tensor and bulk copies, clusters: what they move, and the protocol faults around them.
#include <numeric>

#include "kernel_run.h"
#include "model/tensor_map.h"

namespace fovea::model_test {
namespace {

using model::MapSwizzle;
using model::TiledMap;

constexpr u32 kBar = 0, kData = 1024;
SmemPtr smem(u32 offset) { return {isa::smem_base() + offset}; }

struct Params {
  TensorMap in;
  TensorMap out;
  u32* words;
};

std::vector<u16> iota16(u32 count) {
  std::vector<u16> values(count);
  std::iota(values.begin(), values.end(), u16{1});
  return values;
}

TensorMap encode(const TiledMap& map) {
  TensorMap encoded;
  EXPECT_EQ(model::encode_tiled(&encoded, map), "");
  return encoded;
}

TiledMap map_2d(std::vector<u16>& values, u64 cols, u64 rows, u32 box_cols, u32 box_rows, MapSwizzle swizzle) {
  TiledMap map;
  map.base = values.data();
  map.dim[0] = cols;
  map.dim[1] = rows;
  map.stride[0] = cols * 2;
  map.box[0] = box_cols;
  map.box[1] = box_rows;
  map.swizzle = swizzle;
  return map;
}

// One thread loads a box of 64 x 8 at (c0, c1); the CTA then copies shared memory out as it lies.
template <i32 kC0, i32 kC1>
void load_box(const Params& p) {
  const u32 t = isa::tid_x();
  if (t == 0) {
    isa::mbarrier_init(smem(kBar), 1);
    isa::fence_mbarrier_init();
  }
  isa::syncthreads();
  if (t == 0) {
    isa::mbarrier_arrive_expect_tx(smem(kBar), 64 * 8 * 2);
    isa::tma_load_2d(smem(kData), &p.in, smem(kBar), kC0, kC1);
  }
  isa::mbarrier_wait_parity(smem(kBar), 0);
  for (u32 i = t; i < 256; i += 64) isa::st_global(p.words + i, isa::ld_shared<u32>(smem(kData + 4 * i)));
}

// Where 16-byte chunk `chunk` of row `row` of 128 bytes lies, by the manual's table: chunk XOR row, within 8 rows.
u32 swizzled_chunk(u32 row, u32 chunk) { return row * 8 + (chunk ^ (row & 7U)); }

void expect_box(const std::vector<u32>& got, const std::vector<u16>& tensor, i64 cols, i64 rows, i64 c0, i64 c1) {
  for (u32 row = 0; row < 8; ++row) {
    for (u32 col = 0; col < 64; ++col) {
      const i64 x = c0 + col, y = c1 + row;
      const bool inside = x >= 0 && x < cols && y >= 0 && y < rows;
      const u16 expected = inside ? tensor[static_cast<std::size_t>(y * cols + x)] : u16{0};
      const u32 half = swizzled_chunk(row, col / 8) * 8 + col % 8;
      const u32 word = got[half / 2];
      ASSERT_EQ(static_cast<u16>(half % 2 == 0 ? word : word >> 16U), expected) << row << ' ' << col;
    }
  }
}

TEST(Tma, LoadsSwizzledAndFillsOutsideWithZeros) {
  std::vector<u16> tensor = iota16(80 * 10);
  std::vector<u32> out(256);
  const Params params{encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), {}, out.data()};
  const auto check = [&](void (*kernel)(const Params&), i32 c0, i32 c1) {
    for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 4096, .sm = 90})) {
      const Report report = run<Params>(config, {region(tensor, "in", false), region(out, "out")}, kernel, params);
      ASSERT_FALSE(report.fault) << text(report);
      expect_box(out, tensor, 80, 10, c0, c1);
    }
  };
  check(load_box<0, 0>, 0, 0);
  check(load_box<40, 5>, 40, 5);
  check(load_box<-3, -2>, -3, -2);
}

TEST(Tma, ReadingBeforeTheWaitIsAFault) {
  std::vector<u16> tensor = iota16(80 * 10);
  const Params params{encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), {}, nullptr};
  for (const LaunchConfig& config : adversaries({.threads = 32, .smem_bytes = 4096, .sm = 90})) {
    const Report report = run<Params>(
        config, {region(tensor, "in", false)},
        [](const Params& p) {
          if (isa::tid_x() != 0) return;
          isa::mbarrier_init(smem(kBar), 1);
          isa::fence_mbarrier_init();
          isa::mbarrier_arrive_expect_tx(smem(kBar), 1024);
          isa::tma_load_2d(smem(kData), &p.in, smem(kBar), 0, 0);
          isa::ld_shared<u32>(smem(kData));
        },
        params);
    EXPECT_TRUE(faults(report, Code::copy_in_flight, {"ld.shared"}));
  }
}

TEST(Tma, WrongExpectedBytesIsReported) {
  std::vector<u16> tensor = iota16(80 * 10);
  const Params params{encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), {}, nullptr};
  const Report report = run<Params>(
      {.threads = 32, .smem_bytes = 4096, .sm = 90}, {region(tensor, "in", false)},
      [](const Params& p) {
        if (isa::tid_x() != 0) return;
        isa::mbarrier_init(smem(kBar), 1);
        isa::fence_mbarrier_init();
        isa::mbarrier_arrive_expect_tx(smem(kBar), 1000);
        isa::tma_load_2d(smem(kData), &p.in, smem(kBar), 0, 0);
        isa::mbarrier_wait_parity(smem(kBar), 0);
      },
      params);
  EXPECT_TRUE(faults(report, Code::deadlock, {"-24 bytes missing"}));
}

TEST(Tma, DestinationThatIsNot128ByteAligned) {
  std::vector<u16> tensor = iota16(80 * 10);
  const Params params{encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::none)), {}, nullptr};
  const Report report = run<Params>(
      {.threads = 32, .smem_bytes = 4096, .sm = 90}, {region(tensor, "in", false)},
      [](const Params& p) {
        if (isa::tid_x() != 0) return;
        isa::mbarrier_init(smem(kBar), 1);
        isa::fence_mbarrier_init();
        isa::tma_load_2d(smem(kData + 64), &p.in, smem(kBar), 0, 0);
      },
      params);
  EXPECT_TRUE(faults(report, Code::misaligned, {"cp.async.bulk.tensor"}));
}

template <bool kFence, bool kAdd, bool kWait>
void store_box(const Params& p) {
  const u32 t = isa::tid_x();
  for (u32 i = t; i < 256; i += 64) {
    const u32 row = i / 32, word = i % 32;
    const u32 at = swizzled_chunk(row, word / 4) * 16 + word % 4 * 4;
    isa::st_shared<u32>(smem(kData + at), isa::ld_global<u32>(p.words + i));
  }
  if (kFence) isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
  if (t != 0) return;
  if (kAdd) {
    isa::tma_reduce_add_2d(&p.out, smem(kData), 40, 5);
  } else {
    isa::tma_store_2d(&p.out, smem(kData), 40, 5);
  }
  isa::bulk_commit_group();
  if (kWait) isa::bulk_wait_group<0>();
}

TEST(Tma, StoreClipsAndReductionAdds) {
  std::vector<u16> tensor(80 * 10);
  std::vector<u32> words(256);
  for (u32 i = 0; i < 256; ++i) words[i] = u32{f32_to_bf16(static_cast<f32>(i))} | u32{f32_to_bf16(2.0F)} << 16U;
  const Params params{{}, encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), words.data()};
  for (const bool add : {false, true}) {
    for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 4096, .sm = 90})) {
      std::fill(tensor.begin(), tensor.end(), f32_to_bf16(3.0F));
      const Report report = run<Params>(config, {region(tensor, "out"), region(words, "words", false)},
                                        add ? store_box<true, true, true> : store_box<true, false, true>, params);
      ASSERT_FALSE(report.fault) << text(report);
      for (u32 y = 0; y < 10; ++y) {
        for (u32 x = 0; x < 80; ++x) {
          f32 expected = 3.0F;
          if (x >= 40 && y >= 5) {
            const u32 i = (y - 5) * 32 + (x - 40) / 2;
            const f32 stored = (x - 40) % 2 == 1 ? 2.0F : static_cast<f32>(i);
            expected = add ? expected + stored : stored;
          }
          ASSERT_EQ(tensor[y * 80 + x], f32_to_bf16(expected)) << x << ' ' << y;
        }
      }
    }
  }
}

TEST(Tma, StoreWithoutAProxyFence) {
  std::vector<u16> tensor(80 * 10);
  std::vector<u32> words(256, 1);
  const Params params{{}, encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), words.data()};
  for (const LaunchConfig& config : adversaries({.threads = 64, .smem_bytes = 4096, .sm = 90})) {
    const Report report = run<Params>(config, {region(tensor, "out"), region(words, "words", false)},
                                      store_box<false, false, true>, params);
    EXPECT_TRUE(faults(report, Code::missing_proxy_fence, {"cp.async.bulk.tensor (store)", "fence.proxy.async"}));
  }
}

TEST(Tma, ExitBeforeTheStoreHasReadItsSource) {
  std::vector<u16> tensor(80 * 10);
  std::vector<u32> words(256, 1);
  const Params params{{}, encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), words.data()};
  const Report report =
      run<Params>({.threads = 64, .smem_bytes = 4096, .sm = 90}, {region(tensor, "out"), region(words, "words", false)},
                  store_box<true, false, false>, params);
  EXPECT_TRUE(faults(report, Code::exit_with_pending, {"thread 0", "wait_group.read"}));
}

TEST(Tma, SourceOverwrittenBeforeTheWait) {
  std::vector<u32> words(64, 1);
  const Params params{{}, {}, words.data()};
  const Report report = run<Params>(
      {.threads = 32, .smem_bytes = 4096, .sm = 90}, {region(words, "words")},
      [](const Params& p) {
        if (isa::tid_x() != 0) return;
        isa::st_shared<U32x4>(smem(kData), {1, 2, 3, 4});
        isa::fence_proxy_async();
        isa::bulk_store(p.words, smem(kData), 16);
        isa::bulk_commit_group();
        isa::st_shared<u32>(smem(kData), 9);
      },
      params);
  EXPECT_TRUE(faults(report, Code::race, {"st.shared", "a bulk copy"}));
}

TEST(TensorMapLimits, AreTheDrivers) {
  std::vector<u16> tensor(4096);
  TensorMap out;
  const auto refused = [&](auto change) {
    TiledMap map = map_2d(tensor, 64, 32, 64, 8, MapSwizzle::bytes_128);
    change(map);
    return model::encode_tiled(&out, map);
  };
  EXPECT_EQ(refused([](TiledMap&) {}), "");
  EXPECT_NE(refused([](TiledMap& m) { m.stride[0] = 120; }), "");
  EXPECT_NE(refused([](TiledMap& m) { m.box[1] = 257; }), "");
  EXPECT_NE(refused([](TiledMap& m) { m.box[0] = 72; }), "");
  EXPECT_NE(refused([](TiledMap& m) { m.box[0] = 4; }), "");
  EXPECT_NE(refused([](TiledMap& m) { m.dim[1] = 0; }), "");
  EXPECT_NE(refused([](TiledMap& m) { m.rank = 6; }), "");
  EXPECT_NE(refused([&](TiledMap& m) { m.base = tensor.data() + 1; }), "");
}

TEST(Cluster, RemoteStoresAndBarrier) {
  std::vector<u32> words(4 * 32);
  const Params params{{}, {}, words.data()};
  for (const LaunchConfig& config :
       adversaries({.grid_x = 4, .cluster = 2, .threads = 32, .smem_bytes = 256, .sm = 90})) {
    const Report report = run<Params>(
        config, {region(words, "words")},
        [](const Params& p) {
          const u32 t = isa::tid_x(), rank = isa::cluster_ctarank();
          isa::st_shared_cluster(isa::mapa(smem(4 * t), rank ^ 1U), 100 * isa::ctaid_x() + t);
          isa::cluster_arrive();
          isa::cluster_wait();
          isa::st_global(p.words + isa::ctaid_x() * 32 + t, isa::ld_shared<u32>(smem(4 * t)));
        },
        params);
    ASSERT_FALSE(report.fault) << text(report);
    for (u32 i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], 100 * (i / 32 ^ 1U) + i % 32);
  }
}

TEST(Cluster, RelaxedArriveDoesNotPublish) {
  const Report report = run<Params>({.grid_x = 2, .cluster = 2, .threads = 32, .smem_bytes = 256, .sm = 90}, {},
                                    [](const Params&) {
                                      const u32 t = isa::tid_x();
                                      isa::st_shared_cluster(isa::mapa(smem(4 * t), isa::cluster_ctarank() ^ 1U), t);
                                      isa::cluster_arrive_relaxed();
                                      isa::cluster_wait();
                                      isa::ld_shared<u32>(smem(4 * t));
                                    },
                                    {});
  EXPECT_TRUE(faults(report, Code::race, {"ld.shared"}));
}

TEST(Cluster, MulticastReachesEveryCta) {
  std::vector<u16> tensor = iota16(80 * 10);
  std::vector<u32> out(2 * 256);
  const Params params{encode(map_2d(tensor, 80, 10, 64, 8, MapSwizzle::bytes_128)), {}, out.data()};
  for (const LaunchConfig& config :
       adversaries({.grid_x = 2, .cluster = 2, .threads = 32, .smem_bytes = 4096, .sm = 90})) {
    const Report report = run<Params>(
        config, {region(tensor, "in", false), region(out, "out")},
        [](const Params& p) {
          const u32 t = isa::tid_x(), rank = isa::cluster_ctarank();
          if (t == 0) {
            isa::mbarrier_init(smem(kBar), 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(smem(kBar), 1024);
          }
          isa::bar_warp_sync(~0U);
          isa::cluster_arrive();
          isa::cluster_wait();
          if (t == 0 && rank == 1) {
            isa::tma_load_2d_multicast(smem(kData), &p.in, smem(kBar), 8, 1, u16{3});
          }
          isa::mbarrier_wait_parity(smem(kBar), 0);
          for (u32 i = t; i < 256; i += 32) {
            isa::st_global(p.words + rank * 256 + i, isa::ld_shared<u32>(smem(kData + 4 * i)));
          }
          isa::cluster_arrive();
          isa::cluster_wait();
        },
        params);
    ASSERT_FALSE(report.fault) << text(report);
    for (u32 rank = 0; rank < 2; ++rank) {
      expect_box({out.begin() + rank * 256, out.begin() + rank * 256 + 256}, tensor, 80, 10, 8, 1);
    }
  }
}

TEST(Cluster, AsyncStoreSignalsTheRemoteBarrier) {
  std::vector<u32> words(64);
  const Params params{{}, {}, words.data()};
  for (const LaunchConfig& config :
       adversaries({.grid_x = 2, .cluster = 2, .threads = 32, .smem_bytes = 512, .sm = 90})) {
    const Report report = run<Params>(
        config, {region(words, "words")},
        [](const Params& p) {
          const u32 t = isa::tid_x(), peer = isa::cluster_ctarank() ^ 1U;
          if (t == 0) {
            isa::mbarrier_init(smem(kBar), 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(smem(kBar), 128);
          }
          isa::bar_warp_sync(~0U);
          isa::cluster_arrive();
          isa::cluster_wait();
          isa::st_async(isa::mapa(smem(128 + 4 * t), peer), 7 * t, isa::mapa(smem(kBar), peer));
          isa::mbarrier_wait_parity(smem(kBar), 0);
          isa::st_global(p.words + 32 * peer + t, isa::ld_shared<u32>(smem(128 + 4 * t)));
          isa::cluster_arrive();
          isa::cluster_wait();
        },
        params);
    ASSERT_FALSE(report.fault) << text(report);
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(words[i], 7 * (i % 32));
  }
}

TEST(Cluster, AsyncReductionsCommute) {
  std::vector<u32> words(2);
  const Params params{{}, {}, words.data()};
  for (const LaunchConfig& config :
       adversaries({.grid_x = 2, .cluster = 2, .threads = 32, .smem_bytes = 512, .sm = 90})) {
    const Report report = run<Params>(
        config, {region(words, "words")},
        [](const Params& p) {
          const u32 t = isa::tid_x(), peer = isa::cluster_ctarank() ^ 1U;
          if (t == 0) {
            isa::mbarrier_init(smem(kBar), 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(smem(kBar), 128);
            isa::st_shared<u32>(smem(128), 1000);
          }
          isa::bar_warp_sync(~0U);
          isa::cluster_arrive();
          isa::cluster_wait();
          isa::red_async_add(isa::mapa(smem(128), peer), t, isa::mapa(smem(kBar), peer));
          isa::mbarrier_wait_parity(smem(kBar), 0);
          if (t == 0) isa::st_global(p.words + peer, isa::ld_shared<u32>(smem(128)));
          isa::cluster_arrive();
          isa::cluster_wait();
        },
        params);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_EQ(words, (std::vector<u32>{1496, 1496}));
  }
}

TEST(Registers, IncreaseWaitsForTheDecreaseOfOthers) {
  for (const LaunchConfig& config : adversaries({.threads = 256, .sm = 90})) {
    const Report report = run<Params>(config, {},
                                      [](const Params&) {
                                        if (isa::tid_x() < 128) {
                                          isa::setmaxnreg_dec<24>();
                                        } else {
                                          isa::setmaxnreg_inc<256>();
                                        }
                                      },
                                      {});
    EXPECT_FALSE(report.fault) << text(report);
  }
  EXPECT_TRUE(faults(run<Params>({.threads = 256, .sm = 90, .registers_per_thread = 168}, {},
                                 [](const Params&) {
                                   if (isa::tid_x() >= 128) isa::setmaxnreg_inc<240>();
                                 },
                                 {}),
                     Code::deadlock, {"setmaxnreg.inc"}));
}

}  // namespace
}  // namespace fovea::model_test
