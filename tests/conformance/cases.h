// The list of conformance cases: which kernel, how it is launched, what its inputs look like, how results are compared.
// The GPU runner finds kernels by name; the replay calls them.
#pragma once

#include <string_view>

#include "base/types.h"
#include "conformance/maps.h"

namespace fovea::conformance {

// What the words of an input are, class by class of CTA (inputs.cpp).
enum class Input : u8 {
  f32,
  f16x2,
  bf16x2,
  bits,
  mma_bf16,
  mma_f16,
  mma_f16_acc16,
  mma_tf32,
  mma_e4m3,
  tiny_bf16,
  tiny_f16
};

// exact: every bit. ulp_*: the approximate functions, within the bounds of compare.h.
enum class Compare : u8 { exact, ulp_f32, ulp_f16, ulp_bf16 };

// golden: recorded and replayed by every test run. wide: recorded only into the big file, for study. probe: whether the
// hardware accepts it at all; not recorded.
enum class Tier : u8 { golden, wide, probe };

struct Case {
  std::string_view name;
  std::string_view kernel;
  u32 threads;
  u32 cluster;
  u32 smem_bytes;
  u32 in_words, out_words;  // per CTA
  u32 ctas;                 // in the golden file; the big file has kWideFactor times as many
  Input input;
  Compare compare = Compare::exact;
  Tier tier = Tier::golden;
  bool tensor_maps = false;  // the kernel takes the maps of maps.h
};

inline constexpr u32 kWideFactor = 8;
inline constexpr u32 kWgmmaExtra = 2048 + 1024;  // words of A, and of registers

// Copies by the engine come last.
inline constexpr Case kCases[] = {
    {"arithmetic", "arithmetic", 128, 1, 0, 3 * 128, 7 * 128, 4, Input::f32},
    {"approximate", "approximate", 128, 1, 0, 128, 5 * 128, 4, Input::f32, Compare::ulp_f32},
    {"convert", "convert", 128, 1, 0, 3 * 128, 10 * 128, 4, Input::f32},
    {"integer", "integer", 128, 1, 0, 3 * 128, 6 * 128, 2, Input::bits},
    {"pair_bf16", "pair_bf16", 128, 1, 0, 3 * 128, 2 * 128, 4, Input::bf16x2},
    {"pair_f16", "pair_f16", 128, 1, 0, 3 * 128, 2 * 128, 4, Input::f16x2},
    {"pair_approximate_bf16", "pair_approximate_bf16", 128, 1, 0, 128, 128, 4, Input::bf16x2, Compare::ulp_bf16},
    {"pair_approximate_f16", "pair_approximate_f16", 128, 1, 0, 128, 128, 4, Input::f16x2, Compare::ulp_f16},
    {"warp", "warp", 32, 1, 0, 3 * 32, 20 * 32, 8, Input::bits},
    {"special", "special", 64, 1, 0, 0, 11 * 64, 2, Input::bits},
    {"ldmatrix", "ldmatrix", 32, 1, 1024, 256 + 32, 15 * 32, 4, Input::bits},
    {"stmatrix", "stmatrix", 32, 1, 3072, 129, 768, 2, Input::bits},
    {"mma_k16_bf16", "mma_k16_bf16", 32, 1, 0, 10 * 32, 128, 18, Input::mma_bf16},
    {"mma_k16_f16", "mma_k16_f16", 32, 1, 0, 10 * 32, 128, 18, Input::mma_f16},
    {"mma_k8_bf16", "mma_k8_bf16", 32, 1, 0, 7 * 32, 128, 10, Input::mma_bf16},
    {"mma_k8_f16", "mma_k8_f16", 32, 1, 0, 7 * 32, 128, 10, Input::mma_f16},
    {"mma_k8_tf32", "mma_k8_tf32", 32, 1, 0, 10 * 32, 128, 10, Input::mma_tf32},
    {"mma_k16_f16_acc16", "mma_k16_f16_acc16", 32, 1, 0, 8 * 32, 64, 18, Input::mma_f16_acc16},
    {"mma_k32_e4m3", "mma_k32_e4m3", 32, 1, 0, 10 * 32, 128, 6, Input::mma_e4m3},
    {"tiny_k16_bf16", "mma_k16_bf16", 32, 1, 0, 10 * 32, 128, 400, Input::tiny_bf16, Compare::exact, Tier::wide},
    {"tiny_k8_bf16", "mma_k8_bf16", 32, 1, 0, 7 * 32, 128, 200, Input::tiny_bf16, Compare::exact, Tier::wide},
    {"tiny_k16_f16", "mma_k16_f16", 32, 1, 0, 10 * 32, 128, 100, Input::tiny_f16, Compare::exact, Tier::wide},
    {"tiny_golden", "mma_k16_bf16", 32, 1, 0, 10 * 32, 128, 20, Input::tiny_bf16},
    {"load_store", "load_store", 32, 1, 1024, 8 * 32, 24 * 32, 2, Input::bits},
    {"atomics", "atomics", 128, 1, 0, 4 * 128, 8 + 128 * 8, 2, Input::f32},
    {"barriers", "barriers", 128, 1, 512, 128, 5 * 128, 2, Input::bits},
    {"mbarrier_steps", "mbarrier_steps", 32, 1, 64, 0, 32, 1, Input::bits},
    {"copies", "copies", 32, 1, 2048, 20 * 32, 17 * 32, 2, Input::bits},
    {"copies_mbarrier", "copies_mbarrier", 32, 1, 128 + 1024, 8 * 32, 8 * 32, 1, Input::bits},
    {"reallocation", "reallocation", 384, 1, 0, 384, 384, 1, Input::bits},
    {"wgmma_bf16_n64", "wgmma_bf16_n64", 128, 1, 8192 + 8192, kWgmmaExtra + 2048, 512, 4, Input::mma_bf16},
    {"wgmma_bf16_n128_trans_b", "wgmma_bf16_n128_trans_b", 128, 1, 8192 + 8192, kWgmmaExtra + 2048, 512, 4,
     Input::mma_bf16},
    {"wgmma_bf16_n256_trans_a", "wgmma_bf16_n256_trans_a", 128, 1, 8192 + 32768, kWgmmaExtra + 8192, 512, 4,
     Input::mma_bf16},
    {"wgmma_bf16_n8", "wgmma_bf16_n8", 128, 1, 8192 + 1024, kWgmmaExtra + 256, 512, 4, Input::mma_bf16},
    {"wgmma_f16_n32_trans", "wgmma_f16_n32_trans", 128, 1, 8192 + 4096, kWgmmaExtra + 1024, 512, 4, Input::mma_f16},
    {"wgmma_f16_n16", "wgmma_f16_n16", 128, 1, 8192 + 2048, kWgmmaExtra + 512, 512, 4, Input::mma_f16},
    {"wgmma_bf16_rs_n192_trans_b", "wgmma_bf16_rs_n192_trans_b", 128, 1, 8192 + 8192, kWgmmaExtra + 2048, 512, 4,
     Input::mma_bf16},
    {"wgmma_f16_rs_n96", "wgmma_f16_rs_n96", 128, 1, 8192 + 12288, kWgmmaExtra + 3072, 512, 4, Input::mma_f16},
    {"wgmma_e4m3_n128", "wgmma_e4m3_n128", 128, 1, 8192 + 16384, kWgmmaExtra + 4096, 512, 4, Input::mma_e4m3},
    {"wgmma_e4m3_rs_n64", "wgmma_e4m3_rs_n64", 128, 1, 8192 + 8192, kWgmmaExtra + 2048, 512, 4, Input::mma_e4m3},
    {"tiny_wgmma", "wgmma_bf16_n8", 128, 1, 8192 + 1024, kWgmmaExtra + 256, 512, 40, Input::tiny_bf16, Compare::exact,
     Tier::wide},
    {"bulk", "bulk", 32, 1, 128 + 1024, 256, 256, 4, Input::f32},
    {"cluster_pair", "cluster_pair", 32, 2, 1024, 64, 7 * 32, 2, Input::bits},
    {"tma_load", "tma_load", 32, 1, kTmaLoads * 1024 + 64, 4096, kTmaLoads * 256, 1, Input::f32, Compare::exact,
     Tier::golden, true},
    {"tma_load_hint", "tma_load_hint", 32, 1, kTmaHints * 1024 + 64, 4096, kTmaHints * 256, 1, Input::f32,
     Compare::exact, Tier::golden, true},
    {"tma_prefetch", "tma_prefetch", 32, 1, 1024 + 64, 4096, 256, 1, Input::f32, Compare::exact, Tier::golden, true},
    {"tma_store", "tma_store", 32, 1, 5 * 1024 + 64, 4096, kTmaStoreWords, 1, Input::f32, Compare::exact, Tier::golden,
     true},
    {"tma_reduce", "tma_reduce", 32, 1, 5 * 1024 + 64, 4096, kTmaStoreWords, 1, Input::f32, Compare::exact,
     Tier::golden, true},
    {"tma_multicast", "tma_multicast", 32, 2, 3 * 1024 + 64, 4096, 3 * 256, 2, Input::f32, Compare::exact, Tier::golden,
     true},
    {"probe_load_unaligned", "probe_load_unaligned", 32, 1, 1024 + 64, 4096, 256, 1, Input::f32, Compare::exact,
     Tier::probe, true},
    {"probe_store_unaligned", "probe_store_unaligned", 32, 1, 1024 + 64, 4096, kTmaStoreWords, 1, Input::f32,
     Compare::exact, Tier::probe, true},
    {"probe_reduce_unaligned", "probe_reduce_unaligned", 32, 1, 1024 + 64, 4096, kTmaStoreWords, 1, Input::f32,
     Compare::exact, Tier::probe, true},
    {"probe_store_negative_column", "probe_store_negative_column", 32, 1, 1024 + 64, 4096, kTmaStoreWords, 1,
     Input::f32, Compare::exact, Tier::probe, true},
    {"probe_store_negative_row", "probe_store_negative_row", 32, 1, 1024 + 64, 4096, kTmaStoreWords, 1, Input::f32,
     Compare::exact, Tier::probe, true},
};

}  // namespace fovea::conformance
