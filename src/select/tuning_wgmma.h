// Tiles of fwd_wgmma: data, with the evidence for each row. The first row that fits wins.
#pragma once

#include <array>
#include <string_view>

#include "device/spec/fwd_spec.h"

namespace fovea {

// Tiles with as many keys as their neighbours, or of which causal and window rules leave different parts.
enum class WgmmaKeys : u8 { even, uneven };

// What a call's scores meet beside position rules.
enum class WgmmaViews : u8 { none, mask, bias, both };

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
      WgmmaTuning{even, none, 64, 64, 512, 192, 128, 4,
                  "H200, 2026-11-29: S 512, 1k, 2k 1.13, 1.16, 1.22x the speed of 128 rows; 2026-11-28: 2 stages lose "
                  "to 9%"},
      WgmmaTuning{uneven, none, 64, 64, 512, 192, 128, 4,
                  "H200, 2026-11-29: causal S 768, 1k, 1.5k, 2k 1.13, 1.07, 1.15, 1.15x the speed of 128 rows, 512 "
                  "0.99x; 96 keys 0.96 to 0.98x, 3 stages 0.98 to 1.02x"},
      WgmmaTuning{uneven, none, 64, 64, 0, 128, 128, 4, "H200, 2026-11-28: S 1k 1.08x the speed of 2 stages"},
      WgmmaTuning{even, none, 64, 64, 0, 128, 128, 4, "H200, 2026-11-28: S 1k 1.14x the speed of 2 stages"},
      WgmmaTuning{even, none, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-28: S 1k to 16k, best of 64, 96, 128 and 160 keys; 192 rows 0.88 to 1.06x"},
      WgmmaTuning{uneven, none, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-28: S 1k to 16k, best of 64, 96, 128 and 160 keys"},
      WgmmaTuning{even, mask, 64, 64, 0, 128, 128, 4,
                  "H200, 2026-11-29: 1.35x the time without a mask that hides nothing; no other was timed"},
      WgmmaTuning{uneven, mask, 64, 64, 0, 128, 128, 4, "as without a causal or window rule; no other was timed"},
      WgmmaTuning{even, mask, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: 1.15x the time without a mask that hides nothing; no other fits"},
      WgmmaTuning{uneven, mask, 128, 128, 0, 128, 128, 2, "no other fits"},
      WgmmaTuning{even, bias, 64, 64, 4096, 192, 128, 4,
                  "H200, 2026-11-29: S 4096 1.14x the speed of 128 rows (bias per head 1.10x)"},
      WgmmaTuning{uneven, bias, 64, 64, 4096, 192, 128, 4,
                  "H200, 2026-11-29: causal S 4096 1.08x the speed of 128 rows (bias per head 1.02x)"},
      WgmmaTuning{even, bias, 64, 64, 0, 128, 128, 4, "H200, 2026-11-29: S 1k 1.02x the speed of 192 rows"},
      WgmmaTuning{uneven, bias, 64, 64, 0, 128, 128, 4, "H200, 2026-11-29: causal S 1k 1.11x the speed of 192 rows"},
      WgmmaTuning{even, bias, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: S 1k, 4k 1.15, 1.26x the speed of 64 keys x 4 stages; 128 keys x 3 do not fit"},
      WgmmaTuning{uneven, bias, 128, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: causal S 1k, 4k 1.14, 1.20x the speed of 64 keys x 4 stages"},
      WgmmaTuning{
          even, both, 64, 64, 0, 128, 128, 3,
          "H200, 2026-11-29: S 4096 1.02 to 1.6x the speed of 4 stages, which leave room for one block of mask"},
      WgmmaTuning{uneven, both, 64, 64, 0, 128, 128, 3, "as without a causal or window rule; not timed"},
      WgmmaTuning{even, both, 128, 128, 0, 128, 128, 2, "no other fits"},
      WgmmaTuning{uneven, both, 128, 128, 0, 128, 128, 2, "no other fits"},
      WgmmaTuning{even, none, 192, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: S 1k, 4k, 16k 1.02, 1.03, 1.04x the speed of 96 keys"},
      WgmmaTuning{uneven, none, 192, 128, 0, 128, 128, 2,
                  "H200, 2026-11-29: causal S 1k, 4k, 16k 1.03, 1.03, 1.02x the speed of 96 keys"},
      WgmmaTuning{even, none, 192, 192, 0, 128, 96, 2,
                  "the most keys that two stages have room for; no other was timed"},
      WgmmaTuning{uneven, none, 192, 192, 0, 128, 96, 2,
                  "the most keys that two stages have room for; no other was timed"},
      WgmmaTuning{even, none, 256, 256, 0, 128, 64, 2,
                  "the most keys that two stages have room for; no other was timed"},
      WgmmaTuning{uneven, none, 256, 256, 0, 128, 64, 2,
                  "the most keys that two stages have room for; no other was timed"},
  };
}();

}  // namespace fovea
