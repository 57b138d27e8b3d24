// TileRequest: tiles that somebody wants to try instead of the tuned ones (FOVEA_TILE, fovea tune).
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace fovea {

// Of GPU kernels of forward. Fields of FwdSpec; absent: as tuned.
struct TileRequest {
  static constexpr int kAbsent = -1;
  int tile_m = kAbsent, tile_n = kAbsent;  // query rows per CTA, keys per step
  int stages = kAbsent;                    // K/V tiles in flight or in use
  int rows_per_warp = kAbsent;             // fwd_mma
  int min_ctas = kAbsent;                  // fwd_mma: CTAs per SM

  bool operator==(const TileRequest&) const = default;
  bool any() const { return *this != TileRequest{}; }
};

// "tile_m=192,stages=4": names of the fields with numbers from 0 to 1024, in any order, each once at most. Empty: none.
// An Error names what is wrong.
Result<TileRequest> parse_tile_request(std::string_view text);

// What parse_tile_request() reads; empty for none.
std::string to_string(const TileRequest& request);

}  // namespace fovea
