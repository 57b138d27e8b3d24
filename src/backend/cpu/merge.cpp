// Merging partial results (contract section 3): weights exp(lse_i - lse) over the parts, the sink once at the end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/forward.h"
#include "device/base/numbers.h"

namespace fovea::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float load(const RowView& view, std::int64_t offset) {
  if (view.dtype == FOVEA_F32) return static_cast<const float*>(view.data)[offset];
  const u16 bits = static_cast<const u16*>(view.data)[offset];
  return view.dtype == FOVEA_BF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

void store(const RowView& view, std::int64_t offset, float x) {
  if (view.dtype == FOVEA_F32) {
    static_cast<float*>(view.data)[offset] = x;
  } else {
    static_cast<u16*>(view.data)[offset] = view.dtype == FOVEA_BF16 ? f32_to_bf16(x) : f32_to_f16(x);
  }
}

std::int64_t row_offset(const RowView& view, std::int64_t b, std::int64_t s, std::int64_t h) {
  return b * view.stride_b + s * view.stride_s + h * view.stride_h;
}

// lse as a sum of two: low is 0 unless the part keeps it apart.
struct Lse {
  float high = -kInfinity;
  float low = 0.0F;
  bool empty() const { return high == -kInfinity; }
};

std::int64_t lse_offset(const PartView& part, std::int64_t b, std::int64_t s, std::int64_t h) {
  return b * part.lse_b + h * part.lse_h + s * part.lse_s;
}

Lse lse_at(const PartView& part, std::int64_t b, std::int64_t s, std::int64_t h) {
  const std::int64_t offset = lse_offset(part, b, s, h);
  return {part.lse[offset], part.lse_low != nullptr ? part.lse_low[offset] : 0.0F};
}

struct RowMerge {
  Lse max;             // largest lse of the parts
  float total = 0.0F;  // sum of exp(lse - max)
  float weight(const Lse& lse) const { return std::exp((lse.high - max.high) + (lse.low - max.low)); }
};

// A NaN lse makes total NaN, and so the row.
RowMerge row_weights(const MergeOperands& m, std::int64_t b, std::int64_t s, std::int64_t h) {
  RowMerge row;
  for (const PartView& part : m.parts) {
    const Lse lse = lse_at(part, b, s, h);
    if (row.max.empty() || (lse.high - row.max.high) + (lse.low - row.max.low) > 0.0F) row.max = lse;
  }
  for (const PartView& part : m.parts) {
    const Lse lse = lse_at(part, b, s, h);
    if (!lse.empty()) row.total += row.weight(lse);
  }
  return row;
}

}  // namespace

void merge_row(const MergeOperands& m, std::int64_t b, std::int64_t s, std::int64_t h) {
  constexpr std::int64_t kColumns = 256;
  float sum[kColumns];
  const RowMerge row = row_weights(m, b, s, h);
  const bool empty = row.total == 0.0F;
  const float lse = empty ? -kInfinity : row.max.high + (row.max.low + std::log(row.total));
  const float inverse = empty ? 0.0F : 1.0F / row.total;
  const float keep = m.sink == nullptr || empty ? 1.0F : 1.0F / (1.0F + std::exp(m.sink[h * m.sink_stride] - lse));
  for (std::int64_t begin = 0; begin < m.head_dim; begin += kColumns) {
    const std::int64_t count = std::min(kColumns, m.head_dim - begin);
    std::fill_n(sum, count, 0.0F);
    for (const PartView& part : m.parts) {
      const Lse part_lse = lse_at(part, b, s, h);
      if (part_lse.empty()) continue;  // the identity, whatever its out holds
      const float weight = row.weight(part_lse);
      const std::int64_t base = row_offset(part.out, b, s, h) + begin * part.out.stride_d;
      for (std::int64_t c = 0; c < count; ++c) sum[c] += weight * load(part.out, base + c * part.out.stride_d);
    }
    const std::int64_t base = row_offset(m.result.out, b, s, h) + begin * m.result.out.stride_d;
    for (std::int64_t c = 0; c < count; ++c)
      store(m.result.out, base + c * m.result.out.stride_d, sum[c] * inverse * keep);
  }
  if (m.result.lse != nullptr) m.result.lse[lse_offset(m.result, b, s, h)] = lse;
}

void run_merge(const MergeOperands& operands, ThreadPool& pool) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t chunks = (operands.rows + kRows - 1) / kRows;
  pool.for_each(operands.batch * chunks, [&](std::int64_t task, int) {
    const std::int64_t b = task / chunks;
    const std::int64_t first = task % chunks * kRows;
    for (std::int64_t s = first; s < std::min(first + kRows, operands.rows); ++s) {
      for (std::int64_t h = 0; h < operands.heads; ++h) merge_row(operands, b, s, h);
    }
  });
}

}  // namespace fovea::cpu
