// Tiles of fwd_wgmma: data, with the evidence for each row. The first row that fits wins.
#pragma once

#include <array>
#include <string_view>

#include "device/spec/fwd_spec.h"

namespace fovea {

// Tiles with as many keys as their neighbours, or of which causal and window rules leave different parts; any of these;
// or of which a mask leaves what it leaves.
enum class WgmmaKeys : u8 { any, even, uneven, masked };

struct WgmmaTuning {
  WgmmaKeys keys;
  int max_head_dim;          // width of the q and k tiles
  std::int64_t min_queries;  // of a sequence
  i32 tile_m, tile_n, stages;
  std::string_view evidence;
};

inline constexpr std::array kWgmmaTuning{
    WgmmaTuning{WgmmaKeys::even, 64, 1024, 192, 128, 4,
                "H200, 2026-11-28: S 1k to 16k 1.03, 1.07, 1.14, 1.14x the speed of 128 rows; 2 stages lose up to 9%"},
    WgmmaTuning{WgmmaKeys::uneven, 64, 2048, 192, 128, 4,
                "H200, 2026-11-28: causal S 2k, 4k, 8k 1.06, 1.04, 1.05x the speed of 128 rows; S 1k 0.99x"},
    WgmmaTuning{WgmmaKeys::uneven, 64, 0, 128, 128, 4, "H200, 2026-11-28: S 1k 1.08x the speed of 2 stages"},
    WgmmaTuning{WgmmaKeys::even, 64, 0, 128, 128, 4, "H200, 2026-11-28: S 1k 1.14x the speed of 2 stages"},
    WgmmaTuning{
        WgmmaKeys::any, 128, 0, 128, 128, 2,
        "H200, 2026-11-28: S 1k to 16k, causal and not, best of 64, 96, 128 and 160 keys; 192 rows 0.88 to 1.06x"},
    WgmmaTuning{WgmmaKeys::masked, 64, 0, 128, 128, 4,
                "H200, 2026-11-29: 1.35x the time without a mask that hides nothing; no other was timed"},
    WgmmaTuning{WgmmaKeys::masked, 128, 0, 128, 128, 2,
                "H200, 2026-11-29: 1.15x the time without a mask that hides nothing; no other fits"},
    WgmmaTuning{WgmmaKeys::any, 192, 0, 128, 96, 2, "the most keys that two stages have room for; no other was timed"},
    WgmmaTuning{WgmmaKeys::any, 256, 0, 128, 64, 2, "the most keys that two stages have room for; no other was timed"},
};

}  // namespace fovea
