// Tiles of fwd_wgmma: data, with the evidence for each row. The first row that fits wins.
#pragma once

#include <array>
#include <string_view>

#include "device/spec/fwd_spec.h"

namespace fovea {

// Tiles with as many keys as their neighbours, or of which causal and window rules leave different parts; either.
enum class WgmmaKeys : u8 { even, uneven, any };

// What a call's scores meet beside position rules. copied_bias, copied_both: with a bias of 16 bits that warps copy, as
// TMA cannot bring it; fp32_bias: with a bias of fp32, and a mask or not.
enum class WgmmaViews : u8 { none, mask, bias, both, copied_bias, copied_both, fp32_bias };

struct WgmmaTuning {
  WgmmaKeys keys;
  WgmmaViews views;
  int max_head_dim, max_head_dim_v;  // widths of the q and k tiles, and of the v tiles
  std::int64_t min_queries;          // of a sequence
  i32 tile_m, tile_n, stages;
  std::string_view evidence;
};

inline constexpr auto kWgmmaTuning = [] {
  using enum WgmmaKeys;
  using enum WgmmaViews;
  return std::array{
      WgmmaTuning{any, none, 64, 64, 512, 192, 128, 4,
                  "H200, 2026-11-29: S 512, 1k, 2k 1.13, 1.16, 1.22x the speed of 128 rows; causal S 768, 1k, 1.5k, 2k "
                  "1.13, 1.07, 1.15, 1.15x, 512 0.99x; 96 keys 0.96 to 0.98x, 3 stages 0.98 to 1.02x; 2026-11-28: 2 "
                  "stages lose to 9%"},
      WgmmaTuning{any, none, 64, 64, 0, 128, 128, 4,
                  "H200, 2026-11-28: S 1k 1.14x the speed of 2 stages; causal 1.08x the speed of 2 stages"},
      WgmmaTuning{any, none, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-28: S 1k to 16k, best of 64, 96, 128 and 160 keys; 192 rows 0.88 to 1.06x; causal S "
                  "1k to 16k, best of the same"},
      WgmmaTuning{any, mask, 64, 64, 0, 128, 128, 4,
                  "H200, 2026-11-29: 1.35x the time without a mask that hides nothing; no other was timed; not timed "
                  "with a causal or window rule"},
      WgmmaTuning{any, mask, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: 1.15x the time without a mask that hides nothing; no other fits"},
      WgmmaTuning{any, bias, 64, 64, 4096, 192, 128, 4,
                  "H200, 2026-11-29: S 4096 1.14x the speed of 128 rows (bias per head 1.10x); causal S 4096 1.08x the "
                  "speed of 128 rows (bias per head 1.02x)"},
      WgmmaTuning{any, bias, 64, 64, 0, 128, 128, 4,
                  "H200, 2026-11-29: S 1k 1.02x the speed of 192 rows; causal S 1k 1.11x the speed of 192 rows"},
      WgmmaTuning{any, bias, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: S 1k, 4k 1.15, 1.26x the speed of 64 keys x 4 stages; 128 keys x 3 do not fit; "
                  "causal S 1k, 4k 1.14, 1.20x the speed of 64 keys x 4 stages"},
      WgmmaTuning{any, both, 64, 64, 0, 128, 128, 3,
                  "H200, 2026-11-29: S 4096 1.02 to 1.6x the speed of 4 stages, which leave room for one block of "
                  "mask; not timed with a causal or window rule"},
      WgmmaTuning{any, both, 128, 128, 0, 128, 128, 2, "no other fits"},
      WgmmaTuning{any, mask, 192, 192, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4096 2.38x the speed of fwd_mma; 2 stages the same"},
      WgmmaTuning{any, mask, 256, 256, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4096 2.52x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, bias, 192, 192, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4096 2.72x the speed of fwd_mma, 1.01x that of 2 stages"},
      WgmmaTuning{any, bias, 256, 256, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4096 2.62x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, both, 192, 192, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4096 2.59x the speed of fwd_mma; 2 stages the same"},
      WgmmaTuning{any, both, 256, 256, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4096 2.49x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, copied_bias, 64, 64, 0, 128, 128, 3,
                  "H200, 2026-11-30: S 4095 1.59x the speed of fwd_mma, of an earlier state 1.06x that of 64 keys x 4 "
                  "stages (S 1023 0.97x)"},
      WgmmaTuning{any, copied_bias, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-30: S 4095 2.27x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, copied_bias, 192, 192, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4095 2.47x the speed of fwd_mma; of an earlier state 2 stages the same"},
      WgmmaTuning{any, copied_bias, 256, 256, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4095 2.39x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, copied_both, 64, 64, 0, 128, 128, 3,
                  "H200, 2026-11-30: S 4095 1.77x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, copied_both, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-30: S 4095 2.42x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, copied_both, 192, 192, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4095 2.29x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, fp32_bias, 64, 64, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4096 1.03x the speed of fwd_mma (per head 1.11x, with a mask 1.06x), S 4095 "
                  "1.61x; of an earlier state 1.10x the speed of 128 keys"},
      WgmmaTuning{any, fp32_bias, 128, 128, 0, 128, 64, 3,
                  "H200, 2026-11-30: S 4096 1.83x the speed of fwd_mma, S 4095 2.26x; of an earlier state 1.01x the "
                  "speed of 2 stages"},
      WgmmaTuning{any, fp32_bias, 192, 192, 0, 128, 64, 2,
                  "H200, 2026-11-30: S 4095 2.25x the speed of fwd_mma; no other was timed"},
      WgmmaTuning{any, none, 192, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: S 1k, 4k, 16k 1.02, 1.03, 1.04x the speed of 96 keys; causal S 1k, 4k, 16k 1.03, "
                  "1.03, 1.02x the speed of 96 keys"},
      WgmmaTuning{any, none, 192, 192, 0, 128, 96, 2,
                  "the most keys that two stages have room for; no other was timed"},
      WgmmaTuning{any, none, 256, 256, 0, 128, 64, 2,
                  "the most keys that two stages have room for; no other was timed"},
  };
}();

}  // namespace fovea
