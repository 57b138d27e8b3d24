// Which keys of a block the rows of a sub-tile see (contract section 2), as bits, before any score is computed. An
// empty sub-tile costs neither loads of K and V nor products, a full one takes the path without masking. A bias of -inf
// counts here only where it may empty the whole sub-tile; elsewhere finish_scores(), which reads the bias anyway, hides
// keys.
#if defined(FOVEA_CPU_VISIBILITY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_VISIBILITY_INL_H_
#undef FOVEA_CPU_VISIBILITY_INL_H_
#else
#define FOVEA_CPU_VISIBILITY_INL_H_
#endif

#include <algorithm>
#include <array>
#include <limits>

#include "backend/cpu/convert-inl.h"
#include "backend/cpu/tile.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr std::int64_t kBlockWords = kCpuBlockKeysMax / 64;
using RowBits = std::uint64_t[kBlockWords];  // bit n % 64 of word n / 64: key n of the block

inline constexpr std::int64_t kRowGroupsMax = 8;  // of one sub-tile

// The sub-tile against one block. Keys [begin, end) are multiples of kCpuPanel and hold every visible key.
struct Visible {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool all = true;  // every row sees every key of [begin, end) as far as bits go: they are not written
  std::array<KeyRange, kRowGroupsMax> groups;  // unless all: first to last key that rows of each register tile see
  bool empty() const { return begin >= end; }
  // Keys of the register tile whose rows begin at `row`; see Engine::kGroupRows.
  KeyRange group(std::int64_t index) const {
    return all ? KeyRange{begin, end} : groups[static_cast<std::size_t>(index)];
  }
};

// A range rounded outwards to whole panels.
HWY_INLINE KeyRange whole_panels(const KeyRange& keys) {
  return {keys.begin / kCpuPanel * kCpuPanel, (keys.end + kCpuPanel - 1) / kCpuPanel * kCpuPanel};
}

// Bits [from, to) of one word set; from and to relative to the word.
HWY_INLINE std::uint64_t bit_range(std::int64_t from, std::int64_t to) {
  from = std::clamp<std::int64_t>(from, 0, 64);
  to = std::clamp<std::int64_t>(to, 0, 64);
  if (from >= to) return 0;
  const std::uint64_t below_to = to == 64 ? ~0ULL : (1ULL << to) - 1;
  return below_to & ~((1ULL << from) - 1);
}

// words = mask row != 0 over keys [0, count).
HWY_INLINE void mask_row_bits(const std::byte* row, std::int64_t stride, std::int64_t count, RowBits& words) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  const hn::ScalableTag<std::uint8_t> d8;
  const std::int64_t step = static_cast<std::int64_t>(hn::Lanes(d8));
  std::fill(words, words + kBlockWords, 0);
  std::int64_t n = 0;
  if (stride == 1 && step >= 8) {
    auto* out = reinterpret_cast<std::uint8_t*>(words);
    for (; n + step <= count; n += step) {
      hn::StoreMaskBits(d8, hn::Ne(hn::LoadU(d8, bytes + n), hn::Zero(d8)), out + n / 8);
    }
  }
  for (; n < count; ++n) words[n / 64] |= std::uint64_t{bytes[n * stride] != 0} << (n % 64);
}

// Whether no byte is 0; `count` is a multiple of 32.
HWY_INLINE bool all_true(const std::byte* row, std::int64_t count) {
  const hn::CappedTag<std::uint8_t, 32> d8;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  auto least = hn::Set(d8, 0xff);
  for (std::int64_t n = 0; n < count; n += static_cast<std::int64_t>(hn::Lanes(d8))) {
    least = hn::Min(least, hn::LoadU(d8, bytes + n));
  }
  return hn::AllFalse(d8, hn::Eq(least, hn::Zero(d8)));
}

// words = bias row != -inf over keys [0, count). Most rows hide nothing: one pass for the minimum finds that out.
HWY_INLINE void bias_row_bits(const float* row, std::int64_t count, RowBits& words) {
  const DF d;
  VF least = hn::Zero(d);
  std::int64_t n = 0;
  for (; n + lanes() <= count; n += lanes()) least = hn::Min(least, hn::LoadU(d, row + n));
  bool hides = !hn::AllFalse(d, hn::Eq(least, hn::Set(d, kMinusInfinity)));
  for (; n < count; ++n) hides = hides || row[n] == kMinusInfinity;
  for (std::int64_t w = 0; w < kBlockWords; ++w) words[w] = bit_range(0, count - 64 * w);
  if (!hides) return;
  for (n = 0; n < count; ++n) words[n / 64] &= ~(std::uint64_t{row[n] == kMinusInfinity} << (n % 64));
}

// Addresses of every row of a mask or bias, at key 0; found once per task, for they cost divisions.
HWY_INLINE const std::byte** score_rows(const TileTask& task, bool bias) {
  return task.buffer<const std::byte*>(task.layout.rows) + (bias ? task.layout.rows_pad : 0);
}
HWY_INLINE void find_score_rows(const TileTask& task) {
  const ScoreView& mask = task.operands->mask;
  const ScoreView& bias = task.operands->bias;
  for (std::int64_t r = 0; mask.data != nullptr && r < task.used_rows(); ++r) {
    score_rows(task, false)[r] = score_address(task, mask, 1, r, 0);
  }
  for (std::int64_t r = 0; bias.data != nullptr && r < task.used_rows(); ++r) {
    score_rows(task, true)[r] = score_address(task, bias, element_bytes(bias.dtype), r, 0);
  }
}

// Bias of keys [n0, n0 + count) from a row's address, as contiguous fp32.
HWY_INLINE const float* bias_row(const ScoreView& bias, const std::byte* row, std::int64_t count, float* stage) {
  if (bias.dtype == FOVEA_F32 && bias.stride_k == 1) return reinterpret_cast<const float*>(row);
  load_row(bias.dtype, row, bias.stride_k, count, count, stage);
  return stage;
}

// Rows [first, first + rows) of the task against keys [n0, n0 + tile_n); fills bits[0, rows) unless all or empty.
class VisibilityScan {
 public:
  VisibilityScan(const TileTask& task, std::int64_t group_rows, RowBits* bits, float* stage)
      : task_(task),
        group_rows_(group_rows),
        tile_n_(task.plan->tile_n),
        words_((tile_n_ + 63) / 64),
        bits_(bits),
        stage_(stage) {}

  HWY_INLINE Visible scan(std::int64_t first, std::int64_t rows, std::int64_t n0) {
    const bool has_mask = task_.operands->mask.data != nullptr;
    const bool has_bias = task_.operands->bias.data != nullptr;
    bool full = range_full(first, rows, n0);
    std::int64_t high = tile_n_;
    if (full && (!has_mask || mask_full(first, rows, n0)) && !(has_bias && may_hide_all(first, rows, n0, high))) {
      return {0, tile_n_, true, {}};
    }
    if (full) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t w = 0; w < words_; ++w) bits_[r][w] = bit_range(0, tile_n_ - 64 * w);
      }
    } else {
      high = range_bits(first, rows, n0);
      if (high == 0) return {};
    }
    if (has_mask) full = and_mask(first, rows, n0, high) && full;
    if (has_bias && may_hide_all(first, rows, n0, high)) full = and_bias(first, rows, n0, high) && full;
    if (full) return {0, tile_n_, true, {}};
    Visible visible{tile_n_, 0, false, {}};
    for (std::int64_t r = 0; r < rows; r += group_rows_) {
      const KeyRange keys = seen_keys(r, std::min(r + group_rows_, rows));
      visible.groups[static_cast<std::size_t>(r / group_rows_)] = keys;
      if (keys.begin >= keys.end) continue;
      visible.begin = std::min(visible.begin, whole_panels(keys).begin);
      visible.end = std::max(visible.end, whole_panels(keys).end);
    }
    return visible;
  }

 private:
  // Keys of the block that causal, window and length rules leave to query i.
  HWY_INLINE KeyRange block_range(std::int64_t i, std::int64_t n0) const {
    const std::int64_t limit = std::min(tile_n_, task_.key_end - n0);
    const KeyRange range = key_range(task_.problem(), task_.seq, i);
    return {std::clamp<std::int64_t>(range.begin - n0, 0, limit), std::clamp<std::int64_t>(range.end - n0, 0, limit)};
  }

  // Both bounds only rise from row to row, until seqused_q ends: the first and the last row decide for all.
  HWY_INLINE bool range_full(std::int64_t first, std::int64_t rows, std::int64_t n0) const {
    const KeyRange top = block_range(task_.query(first), n0);
    const KeyRange bottom = block_range(task_.query(first + rows - 1), n0);
    return top.begin == 0 && top.end == tile_n_ && bottom.begin == 0 && bottom.end == tile_n_;
  }

  // Writes the rows' ranges as bits. Returns the end of the last visible key, 0 when none.
  HWY_INLINE std::int64_t range_bits(std::int64_t first, std::int64_t rows, std::int64_t n0) {
    std::int64_t high = 0;
    std::int64_t i = task_.query(first);
    std::int64_t left = task_.group - (task_.row_begin + first) % task_.group;  // rows of query i still to come
    KeyRange range = block_range(i, n0);
    for (std::int64_t r = 0; r < rows; ++r, --left) {
      if (left == 0) {
        left = task_.group;
        range = block_range(++i, n0);
      }
      if (range.begin < range.end) high = std::max(high, range.end);
      for (std::int64_t w = 0; w < words_; ++w) bits_[r][w] = bit_range(range.begin - 64 * w, range.end - 64 * w);
    }
    return high;
  }

  // Ands a mask (a bias: its -inf) into the rows' bits. Returns whether nothing was hidden in [0, tile_n). Each row
  // also asks for its successor in the next sub-tile, for rows lie far apart.
  template <class Bits>
  HWY_INLINE bool and_rows(const ScoreView& view, bool bias, std::int64_t first, std::int64_t rows, std::int64_t n0,
                           const Bits& bits_of) {
    const std::int64_t step = view.stride_k * static_cast<std::int64_t>(bias ? element_bytes(view.dtype) : 1);
    const std::byte* const* row_at = score_rows(task_, bias);
    const std::byte* last = nullptr;
    RowBits words = {};
    bool all = true;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::byte* row = row_at[first + r] + n0 * step;
      if (row != last) {
        if (view.stride_k == 1 && first + r + rows < task_.used_rows())
          prefetch_row<2>(row_at[first + r + rows] + n0 * step, tile_n_ * step);
        bits_of(row, words);
      }
      last = row;
      all = combine(words, r) && all;
    }
    return all;
  }

  // Whether the mask hides nothing: most masks hide nothing in most places, and this costs less than bits.
  HWY_INLINE bool mask_full(std::int64_t first, std::int64_t rows, std::int64_t n0) const {
    const ScoreView& mask = task_.operands->mask;
    if (mask.stride_k != 1) return false;
    const std::byte* const* row_at = score_rows(task_, false);
    const std::byte* last = nullptr;
    for (std::int64_t r = first; r < first + rows; ++r) {
      if (row_at[r] == last) continue;
      last = row_at[r];
      if (r + rows < task_.used_rows()) prefetch_row<2>(row_at[r + rows] + n0, tile_n_);
      if (!all_true(last + n0, tile_n_)) return false;
    }
    return true;
  }

  HWY_INLINE bool and_mask(std::int64_t first, std::int64_t rows, std::int64_t n0, std::int64_t count) {
    const ScoreView& mask = task_.operands->mask;
    return and_rows(mask, false, first, rows, n0,
                    [&](const std::byte* row, RowBits& words) { mask_row_bits(row, mask.stride_k, count, words); });
  }

  HWY_INLINE bool and_bias(std::int64_t first, std::int64_t rows, std::int64_t n0, std::int64_t count) {
    const ScoreView& bias = task_.operands->bias;
    return and_rows(bias, true, first, rows, n0, [&](const std::byte* row, RowBits& words) {
      bias_row_bits(bias_row(bias, row, count, stage_), count, words);
    });
  }

  // False as soon as one probe is not -inf: then the bias cannot empty the sub-tile, and its hidden keys are left to
  // finish_scores(), which reads the bias anyway.
  HWY_INLINE bool may_hide_all(std::int64_t first, std::int64_t rows, std::int64_t n0, std::int64_t count) const {
    const ScoreView& bias = task_.operands->bias;
    const std::int64_t offset = (n0 + count / 2) * bias.stride_k * static_cast<std::int64_t>(element_bytes(bias.dtype));
    for (std::int64_t r = 0; r < rows; ++r) {
      if (load_scalar(bias.dtype, score_rows(task_, true)[first + r] + offset) != kMinusInfinity) return false;
    }
    return true;
  }

  HWY_INLINE bool combine(const RowBits& words, std::int64_t r) {
    bool all = true;
    for (std::int64_t w = 0; w < words_; ++w) {
      bits_[r][w] &= words[w];
      all = all && words[w] == bit_range(0, tile_n_ - 64 * w);
    }
    return all;
  }

  // First to last key that any of the rows [begin, end) sees; {0, 0} when none.
  HWY_INLINE KeyRange seen_keys(std::int64_t begin, std::int64_t end) const {
    std::int64_t first = -1;
    std::int64_t last = -1;
    for (std::int64_t w = 0; w < words_; ++w) {
      std::uint64_t seen = 0;
      for (std::int64_t r = begin; r < end; ++r) seen |= bits_[r][w];
      if (seen == 0) continue;
      if (first < 0) first = 64 * w + __builtin_ctzll(seen);
      last = 64 * w + 63 - __builtin_clzll(seen);
    }
    return first < 0 ? KeyRange{} : KeyRange{first, last + 1};
  }

  const TileTask& task_;
  std::int64_t group_rows_;
  std::int64_t tile_n_;
  std::int64_t words_;  // of a row that this tile_n uses
  RowBits* bits_;
  float* stage_;
};

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
