// Tiles of fwd_mma per architecture, use and head dim: data, with the evidence for each row. The first row that fits
// wins.
#pragma once

#include <array>
#include <string_view>

#include "device/spec/fwd_spec.h"

namespace fovea {

// decode: few rows per kv head, bound by the bytes of K and V. biased: with a bias. universal: with views, and
// something that the kernels for views do not have (Loads::any).
enum class MmaUse : u8 { prefill, biased, universal, decode };

struct MmaTuning {
  int sm;  // the architecture it was tuned for; 0 = any
  MmaUse use;
  int max_head_dim;  // of head_dim_qk and head_dim_v
  i32 tile_m, tile_n, rows_per_warp, stages, min_ctas;
  std::string_view evidence;
};

inline constexpr std::array kMmaTuning{
    MmaTuning{90, MmaUse::prefill, 64, 128, 96, 32, 2, 2,
              "H200, 2026-11-28: best of 64, 96 and 128 keys, S 2k and 8k, causal and not; 128 loses 2 to 5%"},
    MmaTuning{90, MmaUse::prefill, 128, 128, 64, 32, 2, 2,
              "H200, 2026-11-28: best of 32, 64 and 96 keys, S 2k and 8k, causal and not; 32 loses 6 to 8%"},
    MmaTuning{90, MmaUse::biased, 64, 128, 64, 32, 2, 2, "derived: 64 keys leave registers for the bias"},
    MmaTuning{90, MmaUse::biased, 128, 128, 64, 32, 2, 2,
              "H200, 2026-11-28: S 4096; 32 keys lose 1 to 6% with a bf16 bias and gain 11% with fp32"},
    MmaTuning{
        90, MmaUse::universal, 128, 64, 32, 16, 2, 3,
        "H200, 2026-11-30: S 4095 and 4088, masks and biases by words, S 4096, softcap with both; 64 x 64 9 to 25% "
        "slower, 128 x 64 10% faster to 19% slower"},
    MmaTuning{90, MmaUse::decode, 128, 64, 64, 16, 2, 2, "derived: 16 rows per warp are enough for 8 heads of a group"},
    MmaTuning{0, MmaUse::prefill, 64, 128, 64, 32, 2, 1, "derived: 48 KB, within the 99 KB of SM86, SM89 and SM120"},
    MmaTuning{0, MmaUse::prefill, 128, 128, 64, 32, 2, 1, "derived: 96 KB, within the 99 KB of SM86, SM89 and SM120"},
    MmaTuning{0, MmaUse::biased, 128, 128, 64, 32, 2, 1, "derived: 96 KB, within the 99 KB of SM86, SM89 and SM120"},
    MmaTuning{0, MmaUse::universal, 128, 64, 32, 16, 2, 2,
              "derived: two CTAs of 48 KB, within the 99 KB of SM86, SM89 and SM120"},
    MmaTuning{0, MmaUse::decode, 128, 64, 64, 16, 2, 1, "derived: 80 KB, within the 99 KB of SM86, SM89 and SM120"},
    MmaTuning{0, MmaUse::prefill, 192, 64, 32, 16, 2, 1,
              "derived: 72 KB; 16 rows per warp keep the output in registers"},
    MmaTuning{0, MmaUse::prefill, 256, 64, 32, 16, 2, 1,
              "derived: 96 KB; 16 rows per warp keep the output in registers"},
    MmaTuning{0, MmaUse::biased, 256, 64, 32, 16, 2, 1,
              "derived: 96 KB; 16 rows per warp keep the output in registers"},
    MmaTuning{0, MmaUse::universal, 256, 64, 32, 16, 2, 1,
              "derived: 96 KB; 16 rows per warp keep the output in registers"},
    MmaTuning{0, MmaUse::decode, 256, 64, 32, 16, 2, 1,
              "derived: 96 KB; 16 rows per warp keep the output in registers"},
};

}  // namespace fovea
