// The AMX instructions that the bf16 engine uses (Intel SDM vol. 2, TILELOADD, TDPBF16PS, ...; CPUs with AMX-BF16).
// As inline assembly: Highway's per-target pragmas know no AMX, and so this needs no compiler flags of its own.
// Tile registers are numbers in the instruction, hence macros.
#pragma once

#include <cstdint>

#define FOVEA_TILE_ZERO(t) asm volatile("tilezero %%tmm" #t ::)
#define FOVEA_TILE_LOAD(t, base, stride_bytes) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(base), "r"(std::int64_t{stride_bytes}) : "memory")
#define FOVEA_TILE_STORE(t, base, stride_bytes) \
  asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(base), "r"(std::int64_t{stride_bytes}) : "memory")
// c[16][16] fp32 += a[16][32] bf16 * b[32][16] bf16; b as 16 rows of 16 pairs (b[2i][j], b[2i+1][j]).
#define FOVEA_TILE_DOT(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

namespace fovea::cpu {

// The 64-byte operand of LDTILECFG.
struct TileLayout {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(TileLayout) == 64);

// All eight tiles: 16 rows of 64 bytes.
constexpr TileLayout full_tiles() {
  TileLayout layout{.palette = 1, .start_row = 0, .reserved = {}, .row_bytes = {}, .rows = {}};
  for (int t = 0; t < 8; ++t) {
    layout.row_bytes[t] = 64;
    layout.rows[t] = 16;
  }
  return layout;
}

// Configures the calling thread's tiles while it lives.
class TileConfig {
 public:
  TileConfig() {
    alignas(64) static constexpr TileLayout kLayout = full_tiles();
    asm volatile("ldtilecfg (%0)" ::"r"(&kLayout) : "memory");
  }
  ~TileConfig() { asm volatile("tilerelease" ::); }
  TileConfig(const TileConfig&) = delete;
  TileConfig& operator=(const TileConfig&) = delete;
};

}  // namespace fovea::cpu
