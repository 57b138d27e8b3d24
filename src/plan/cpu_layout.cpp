// Sizes and offsets of a tile's buffers in one thread's scratch memory, and of the partial results of a split.
#include "plan/cpu_layout.h"

#include <algorithm>

namespace fovea {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// Hands out consecutive 64-byte-aligned pieces.
class Carver {
 public:
  std::uint64_t take(std::int64_t bytes) {
    const std::uint64_t offset = end_;
    end_ += static_cast<std::uint64_t>(round_up(bytes, 64));
    return offset;
  }
  std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_ = 0;
};

}  // namespace

CpuTileLayout CpuTileLayout::of_member(std::int64_t i) const {
  CpuTileLayout layout = *this;
  for (std::uint64_t* offset :
       {&layout.q, &layout.k, &layout.v, &layout.s, &layout.bits, &layout.o, &layout.m, &layout.l, &layout.rows}) {
    *offset += static_cast<std::uint64_t>(i) * member_bytes;
  }
  return layout;
}

CpuTileLayout cpu_tile_layout(const Problem& problem, KernelId kernel, std::int64_t tile_m, std::int64_t tile_n,
                              std::int64_t members) {
  constexpr std::int64_t kF32 = 4;
  const std::int64_t operand = kernel == KernelId::cpu_fwd_amx_bf16 ? 2 : 4;
  CpuTileLayout layout;
  layout.dqk_pad = round_up(problem.head_dim_qk, kCpuPanel);
  layout.dv_pad = round_up(problem.head_dim_v, kCpuPanel);
  layout.rows_pad = round_up(tile_m, kCpuRowUnit);
  Carver carver;
  layout.stage = carver.take(16 * std::max({layout.dqk_pad, layout.dv_pad, tile_n}) * kF32);
  layout.q = carver.take(layout.rows_pad * layout.dqk_pad * operand + kCpuPackSlack);
  layout.k = carver.take(tile_n * layout.dqk_pad * operand);
  layout.v = carver.take(tile_n * layout.dv_pad * operand);
  layout.s = carver.take(kCpuScoreFloats * kF32);
  layout.bits = carver.take(kCpuSubRowsMax * kCpuBlockKeysMax / 8);
  layout.o = carver.take(layout.rows_pad * layout.dv_pad * kF32);
  layout.m = carver.take(layout.rows_pad * kF32);
  layout.l = carver.take(layout.rows_pad * kCpuMaxLanes * kF32);
  layout.rows = carver.take(2 * layout.rows_pad * static_cast<std::int64_t>(sizeof(void*)));
  layout.member_bytes = carver.end() - layout.q;
  layout.bytes = layout.q + static_cast<std::uint64_t>(members) * layout.member_bytes;
  return layout;
}

}  // namespace fovea
