// CpuTileLayout: where each buffer of one cpu task lies in its thread's scratch memory.
// The plan asks it for the size, the kernels for the offsets: there is no second place that computes either.
#pragma once

#include <cstdint>

#include "select/problem.h"
#include "select/select.h"

namespace fovea {

// Widths are for the widest vectors (16 floats); narrower targets use the same buffers.
inline constexpr std::int64_t kCpuMaxLanes = 16;
inline constexpr std::int64_t kCpuPanel = 32;      // keys, or columns of V, per packed panel; divides every tile_n
inline constexpr std::int64_t kCpuPackSlack = 64;  // bytes that a vector store of packed queries may reach past them
inline constexpr std::int64_t kCpuMinTileRows = 32;
inline constexpr std::int64_t kCpuRowUnit = 48;     // rows of a task are padded to a multiple of this and of 16
inline constexpr std::int64_t kCpuSubRowsMax = 64;  // rows whose scores are in flight at a time
inline constexpr std::int64_t kCpuBlockKeysMax = 256;
inline constexpr std::int64_t kCpuScoreFloats = 27648;
inline constexpr std::int64_t kCpuMembersMax = 8;  // pairs of batch entry and kv head in one task

struct CpuTileLayout {
  std::int64_t dqk_pad = 0;  // head_dim_qk up to a multiple of kCpuPanel
  std::int64_t dv_pad = 0;
  std::int64_t rows_pad = 0;  // tile_m up to a multiple of kCpuRowUnit
  // Byte offsets, each a multiple of 64. What the members of a task use in turn:
  std::uint64_t stage = 0;  // [16][max(dqk_pad, dv_pad, tile_n)] fp32: rows on their way into a packed form
  // What each member keeps, given for the first one:
  std::uint64_t q = 0;     // [rows_pad][dqk_pad] fp32 or bf16, and kCpuPackSlack bytes
  std::uint64_t k = 0;     // [tile_n][dqk_pad] fp32 or bf16, packed
  std::uint64_t v = 0;     // [tile_n][dv_pad] fp32 or bf16, packed
  std::uint64_t s = 0;     // kCpuScoreFloats for scores and weights, divided by each kernel in its own way
  std::uint64_t bits = 0;  // [kCpuSubRowsMax][kCpuBlockKeysMax / 64] visibility words
  std::uint64_t o = 0;     // [rows_pad][dv_pad] fp32
  std::uint64_t m = 0;     // [rows_pad] fp32
  std::uint64_t l = 0;     // [rows_pad][kCpuMaxLanes] fp32 partial sums
  std::uint64_t rows = 0;  // [2][rows_pad] addresses of each row of mask, then of bias, at key 0
  std::uint64_t member_bytes = 0;
  std::uint64_t bytes = 0;  // of all members

  // The same with the offsets of member `i`.
  CpuTileLayout of_member(std::int64_t i) const;
};

CpuTileLayout cpu_tile_layout(const Problem& problem, KernelId kernel, std::int64_t tile_m, std::int64_t tile_n,
                              std::int64_t members);

// fp32 words of one split's partial result for `rows` rows: out [rows][head_dim_v], then m [rows], then ln l [rows].
inline std::uint64_t cpu_partial_floats(const Problem& problem, std::int64_t rows) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(problem.head_dim_v + 2);
}

}  // namespace fovea
