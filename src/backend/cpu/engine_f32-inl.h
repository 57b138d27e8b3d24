// Engine of the fp32 kernel: Q, K and V are widened to fp32 on the way into packed panels, products run on vector FMA.
//   q: groups of kGemmRows rows, [group][dqk][kGemmRows]      k: panels of keys, [panel][dqk][panel_width]
//   v: panels of columns, [panel][tile_n][panel_width]        s: rows of kScoreStride, weights replace scores in place
#if defined(FOVEA_CPU_ENGINE_F32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_ENGINE_F32_INL_H_
#undef FOVEA_CPU_ENGINE_F32_INL_H_
#else
#define FOVEA_CPU_ENGINE_F32_INL_H_
#endif

#include "backend/cpu/gemm-inl.h"
#include "backend/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

class EngineF32 {
 public:
  static constexpr std::int64_t kSubRows = 48;
  static_assert(kSubRows <= kCpuSubRowsMax && kCpuRowUnit % kSubRows == 0);
  static constexpr std::int64_t kGroupRows = kGemmRows;
  static_assert(kSubRows / kGroupRows <= kRowGroupsMax);
  static constexpr Exp kExp = Exp::precise;
  static constexpr bool kScoresKept = false;
  static constexpr int kScoreStride = 128;  // floats between rows of s; the largest tile_n of this kernel
  static_assert(kSubRows * kScoreStride <= kCpuScoreFloats);
  static_assert(kSubRows % kGemmRows == 0 && kCpuPanel % panel_width() == 0);

  struct Session {};

  explicit EngineF32(const TileTask& task)
      : task_(task),
        dqk_(task.problem().head_dim_qk),
        dv_(task.problem().head_dim_v),
        tile_n_(task.plan->tile_n),
        dot_chunk_(task.problem().dtype == FOVEA_F32 ? 32 : 256) {}

  static float* score_row(const TileTask& task, std::int64_t row) {
    return task.buffer<float>(task.layout.s) + row * kScoreStride;
  }
  // Weights replace scores in place: weight n of a row is that of key visible.begin + n.
  static float* weight_row(const TileTask& task, std::int64_t row) { return score_row(task, row); }
  static float weight(const TileTask& task, std::int64_t row, std::int64_t n) { return weight_row(task, row)[n]; }
  static HWY_INLINE void store_weights(float* weights, VF w0, VF w1, std::int64_t n) {
    hn::StoreU(w0, DF(), weights + n);
    hn::StoreU(w1, DF(), weights + n + lanes());
  }

  HWY_INLINE void pack_q() const {
    const bool flip = task_.problem().softmax_scale < 0.0F;
    const RowView& q = task_.operands->q;
    float* group = task_.buffer<float>(task_.layout.q);
    RowWalk row(task_, q);
    RowWalk ahead(task_, q, std::min(kRowsAhead, task_.rows - 1));
    for (std::int64_t first = 0; first < task_.rows; first += kGemmRows, group += kGemmRows * dqk_) {
      std::array<const std::byte*, kGemmRows> rows;
      for (const std::byte*& source : rows) {
        source = row.row();
        prefetch_row<3>(ahead.row(), view_bytes(q, dqk_));
        row.next();
        ahead.next();
      }
      pack_q_group(rows, group);
      for (std::int64_t c = 0; flip && c < kGemmRows * dqk_; ++c) group[c] = -group[c];
    }
  }

  // Keys [begin, end) of block n0, rounded outwards to whole panels; keys outside are packed as zeros.
  HWY_INLINE void pack_k(std::int64_t n0, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kStep = lanes();
    const RowView& k = task_.operands->k;
    float* packed = task_.buffer<float>(task_.layout.k);
    for (std::int64_t n = begin / kCpuPanel * kCpuPanel; n < panel_end(end); n += kStep) {
      std::array<const std::byte*, static_cast<std::size_t>(kStep)> rows;
      for (std::int64_t i = 0; i < kStep; ++i) {
        prefetch_after(task_, k, n0 + n + i, dqk_);
        rows[static_cast<std::size_t>(i)] = n + i < end ? key_address(task_, k, n0 + n + i) : nullptr;
      }
      float* dst = k_panel(packed, n) + n % panel_width();
      transpose_rows(k, rows, dqk_, stage(), task_.layout.dqk_pad, dst, panel_width());
    }
  }

  // As pack_k. Returns whether every value is finite; values that are not are packed as zeros.
  HWY_INLINE bool pack_v(std::int64_t n0, std::int64_t begin, std::int64_t end) const {
    const RowView& v = task_.operands->v;
    const bool narrow = vectors_read_bf16(v, dv_);
    auto bad = hn::Zero(hn::RebindToUnsigned<DF>());
    for (std::int64_t n = begin / kCpuPanel * kCpuPanel; n < panel_end(end); ++n) {
      prefetch_after(task_, v, n0 + n, dv_);
      const std::byte* row = n < end ? key_address(task_, v, n0 + n) : nullptr;
      if (narrow && row != nullptr) {
        bad = hn::Or(bad, pack_v_row(n, [row](std::int64_t c) { return load_bf16(row + 2 * c); }));
      } else {
        const float* wide = stage_row(v, row, dv_, padded_v(), stage());
        bad = hn::Or(bad, pack_v_row(n, [wide](std::int64_t c) { return hn::LoadU(DF(), wide + c); }));
      }
    }
    return !any_nonfinite(bad);
  }

  HWY_INLINE void scores(std::int64_t first, std::int64_t rows, const Visible& visible) const {
    const float* q = task_.buffer<float>(task_.layout.q) + first * dqk_;
    for (std::int64_t n = visible.begin; n < visible.end; n += panel_width()) {
      const float* panel = k_panel(task_.buffer<float>(task_.layout.k), n);
      float* s = score_row(task_, 0) + (n - visible.begin);
      for (std::int64_t r = 0; r < rows; r += kGemmRows) {
        const KeyRange keys = visible.group(r / kGemmRows);
        if (n + panel_width() <= keys.begin || n >= keys.end) continue;
        const int count = static_cast<int>(std::min<std::int64_t>(kGemmRows, rows - r));
        for (std::int64_t c = 0; c < dqk_; c += dot_chunk_) {
          const GemmOperands g{q + r * dqk_ + c * kGemmRows,   panel + c * panel_width(),
                               s + r * kScoreStride,           kScoreStride,
                               std::min(dot_chunk_, dqk_ - c), c > 0};
          gemm_rows<AStrides<1, kGemmRows>, 2>(g, count);
        }
      }
    }
  }

  HWY_INLINE void values(std::int64_t first, std::int64_t rows, const Visible& visible) const {
    for (std::int64_t c = 0; c < dv_; c += panel_width()) {
      const float* panel = task_.buffer<float>(task_.layout.v) + c * tile_n_;
      for (std::int64_t r = 0; r < rows; r += kGemmRows) {
        const KeyRange keys = visible.group(r / kGemmRows);
        if (keys.begin >= keys.end) continue;
        float* o = task_.buffer<float>(task_.layout.o) + (first + r) * task_.layout.dv_pad + c;
        const GemmOperands g{weight_row(task_, r) + (keys.begin - visible.begin),
                             panel + keys.begin * panel_width(),
                             o,
                             task_.layout.dv_pad,
                             keys.end - keys.begin,
                             true};
        const int count = static_cast<int>(std::min<std::int64_t>(kGemmRows, rows - r));
        if (c + lanes() < dv_) {
          gemm_rows<AStrides<kScoreStride, 1>, 2>(g, count);
        } else {
          gemm_rows<AStrides<kScoreStride, 1>, 1>(g, count);
        }
      }
    }
  }

 private:
  float* stage() const { return task_.buffer<float>(task_.layout.stage); }
  std::int64_t padded_v() const { return (dv_ + lanes() - 1) / lanes() * lanes(); }

  // Vectors of rows, the last ones first: what a vector writes past its kGemmRows floats is written again by the next
  // column, the next vector or the next group; past the last group lies kCpuPackSlack.
  HWY_INLINE void pack_q_group(const std::array<const std::byte*, kGemmRows>& group, float* packed) const {
    constexpr std::int64_t kStep = lanes();
    for (std::int64_t i = (kGemmRows - 1) / kStep * kStep; i >= 0; i -= kStep) {
      std::array<const std::byte*, static_cast<std::size_t>(kStep)> rows;
      for (std::int64_t j = 0; j < kStep; ++j) {
        rows[static_cast<std::size_t>(j)] =
            group[static_cast<std::size_t>(std::min<std::int64_t>(i + j, kGemmRows - 1))];
      }
      transpose_rows(task_.operands->q, rows, dqk_, stage(), task_.layout.dqk_pad, packed + i, kGemmRows);
    }
  }

  // Row n of the packed block, from vectors load(c) of columns c on. Returns lanes that are not 0 where any is Inf or
  // NaN; they are packed as zeros.
  template <class Load>
  HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> pack_v_row(std::int64_t n, const Load& load) const {
    const hn::RebindToUnsigned<DF> du;
    float* packed = task_.buffer<float>(task_.layout.v) + n * panel_width();
    auto seen = hn::Zero(du);
    for (std::int64_t c = 0; c < padded_v(); c += lanes()) {
      const VF x = load(c);
      const auto bad = nonfinite_lanes(x);
      seen = hn::Or(seen, bad);
      float* dst = packed + c / panel_width() * panel_width() * tile_n_ + c % panel_width();
      hn::StoreU(hn::BitCast(DF(), hn::AndNot(bad, hn::BitCast(du, x))), DF(), dst);
    }
    return seen;
  }

  static std::int64_t panel_end(std::int64_t end) { return (end + kCpuPanel - 1) / kCpuPanel * kCpuPanel; }
  // Start of the panel that holds key n.
  float* k_panel(float* packed, std::int64_t n) const {
    return packed + n / panel_width() * panel_width() * task_.layout.dqk_pad;
  }

  const TileTask& task_;
  std::int64_t dqk_, dv_, tile_n_;
  std::int64_t dot_chunk_;  // dims per partial sum of a score: short sums where inputs have more than 16 bits
};

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
