// The loop over key blocks of one task, the same for every engine: see what is visible, pack K and V once per block,
// then per sub-tile scores -> softmax -> values; at the end normalise and write. An Engine supplies the two products.
#if defined(FOVEA_CPU_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_CPU_TILE_INL_H_
#undef FOVEA_CPU_TILE_INL_H_
#else
#define FOVEA_CPU_TILE_INL_H_
#endif

#include "backend/cpu/pack-inl.h"
#include "backend/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

// Keys that any row of the task may see by causal, window and length rules, within the split.
HWY_INLINE KeyRange task_range(const TileTask& task) {
  const std::int64_t last = std::min(task.query(task.rows - 1), task.seq.q_used - 1);
  if (task.query(0) > last) return {};
  const KeyRange first_row = key_range(task.problem(), task.seq, task.query(0));
  const KeyRange last_row = key_range(task.problem(), task.seq, last);
  return {std::max(first_row.begin, task.key_begin), std::min(last_row.end, task.key_end)};
}

HWY_INLINE bool bias_hides(const TileTask& task, std::int64_t row, std::int64_t key) {
  const ScoreView& bias = task.operands->bias;
  if (bias.data == nullptr) return false;
  const std::int64_t step = bias.stride_k * static_cast<std::int64_t>(element_bytes(bias.dtype));
  return load_scalar(bias.dtype, score_rows(task, true)[row] + key * step) == kMinusInfinity;
}

// Inf and NaN in V stand outside the products: packed V holds 0 there, and rows that see the key get the value's effect
// here. So a row that does not see the key stays bit-identical to a call with zeros there.
template <class Engine>
HWY_INLINE void add_nonfinite_values(const TileTask& task, std::int64_t n0, std::int64_t first, std::int64_t rows,
                                     const Visible& visible, const RowBits* bits) {
  const RowView& v = task.operands->v;
  const std::int64_t element = static_cast<std::int64_t>(element_bytes(v.dtype));
  for (std::int64_t n = visible.begin; n < std::min(visible.end, task.key_end - n0); ++n) {
    const std::byte* value_row = key_address(task, v, n0 + n);
    for (std::int64_t c = 0; c < task.problem().head_dim_v; ++c) {
      const float value = load_scalar(v.dtype, value_row + c * v.stride_d * element);
      if (std::isfinite(value)) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        if (!visible.all && ((bits[r][n / 64] >> (n % 64)) & 1U) == 0) continue;
        if (bias_hides(task, first + r, n0 + n)) continue;
        const float weight = std::max(Engine::weight(task, r, n - visible.begin), std::numeric_limits<float>::min());
        task.buffer<float>(task.layout.o)[(first + r) * task.layout.dv_pad + c] += weight * value;
      }
    }
  }
}

// Bias of keys [0, end) of a block from a row's address: in place where vectors may read it, else through `stage`.
// Only `count` keys have storage; the rest is 0. later: see BiasRow.
HWY_INLINE BiasRow block_bias(const ScoreView& view, const std::byte* row, const std::byte* later, std::int64_t count,
                              std::int64_t end, float* stage) {
  const bool in_place = view.stride_k == 1 && count >= end;
  if (in_place && view.dtype == FOVEA_F32) return {BiasForm::f32, row, later};
  if (in_place && view.dtype == FOVEA_BF16) return {BiasForm::bf16, row, later};
  load_row(view.dtype, row, view.stride_k, std::min(count, end), end, stage);
  return {BiasForm::f32, reinterpret_cast<const std::byte*>(stage), later};
}

// A member of a task, and where it stands in the key block and sub-tile of the moment.
struct Member {
  const TileTask* task = nullptr;
  KeyRange range;
  bool packed = false;  // K and V of the block
  bool finite = true;   // its V
  Visible visible;
  std::int64_t rows = 0;  // of the sub-tile; 0 when they see no key

  RowBits* bits() const { return task->buffer<RowBits>(task->layout.bits); }
};

// The bias of one row of a sub-tile after the other. Members of a task read the same row, one after the other too, so
// that it comes from the level-1 cache. Rows lie far apart: each asks for the one after the next.
class BiasRows {
 public:
  explicit BiasRows(std::int64_t n0) : n0_(n0) {}

  HWY_INLINE const BiasRow& row(const TileTask& task, std::int64_t r, std::int64_t end) {
    const ScoreView& view = task.operands->bias;
    if (view.data == nullptr) return row_;
    const std::int64_t step = view.stride_k * static_cast<std::int64_t>(element_bytes(view.dtype));
    const std::byte* source = score_rows(task, true)[r] + n0_ * step;
    const std::int64_t count = std::min(task.key_end - n0_, end);
    if (source == source_ && count == count_ && end == end_) return row_;
    source_ = source;
    count_ = count;
    end_ = end;
    const std::byte* later = score_rows(task, true)[std::min(r + kAhead, task.used_rows() - 1)] + n0_ * step;
    row_ = block_bias(view, source, later, count, end, task.buffer<float>(task.layout.stage));
    return row_;
  }

 private:
  static constexpr std::int64_t kAhead = 2;

  std::int64_t n0_, count_ = 0, end_ = 0;
  const std::byte* source_ = nullptr;
  BiasRow row_;
};

// Row r of the sub-tile that begins at row `first`.
template <class Engine>
HWY_INLINE void softmax_row(const Member& member, std::int64_t first, std::int64_t r, BiasRows& bias) {
  const TileTask& task = *member.task;
  const Visible& visible = member.visible;
  const KeyRange keys = whole_panels(visible.group(r / Engine::kGroupRows));
  if (keys.begin >= keys.end) return;
  const std::int64_t row = first + r;
  const ScoreRule rule{std::abs(task.problem().softmax_scale), task.problem().softcap};
  const ScoreSpan span{Engine::score_row(task, r) + (keys.begin - visible.begin), keys.begin, keys.end};
  const RowState state{task.buffer<float>(task.layout.m) + row, task.buffer<float>(task.layout.l) + row * kCpuMaxLanes,
                       task.buffer<float>(task.layout.o) + row * task.layout.dv_pad, task.layout.dv_pad};
  auto* weights = Engine::weight_row(task, r) + (keys.begin - visible.begin);
  const auto store = [weights](VF w0, VF w1, std::int64_t i) { Engine::store_weights(weights, w0, w1, i); };
  const BiasRow& bias_row = bias.row(task, row, visible.end);
  if (visible.all && rule.softcap == 0.0F) {
    softmax_open_row<Engine::kExp, Engine::kScoresKept>(span, rule, bias_row, state, store);
  } else {
    const std::uint64_t* bits = visible.all ? nullptr : member.bits()[r];
    softmax_finished_row<Engine::kExp>(span, rule, bias_row, bits, state, store);
  }
}

// out = o / l, times the sink's factor; lse = m + ln l. Empty rows: 0 and -inf.
HWY_INLINE void write_rows(const TileTask& task) {
  const Problem& problem = task.problem();
  const ForwardOperands& ops = *task.operands;
  const float infinity = std::numeric_limits<float>::infinity();
  RowWalk row(task, ops.out);
  RowWalk ahead(task, ops.out, std::min(kRowsAhead, task.rows - 1));
  for (std::int64_t r = 0; r < task.rows; ++r, row.next(), ahead.next()) {
    if (task.partial_out == nullptr) prefetch_row<3>(ahead.row(), view_bytes(ops.out, problem.head_dim_v));
    const float m = task.buffer<float>(task.layout.m)[r];
    const float total =
        hn::GetLane(hn::SumOfLanes(DF(), hn::LoadU(DF(), task.buffer<float>(task.layout.l) + r * kCpuMaxLanes)));
    const bool empty = total == 0.0F;
    const float inverse = empty ? 0.0F : 1.0F / total;
    const float ln_l = empty ? 0.0F : std::log(total);
    const float lse = m + ln_l;  // m is -inf for an empty row
    float* o = task.buffer<float>(task.layout.o) + r * task.layout.dv_pad;
    if (empty) std::fill_n(o, problem.head_dim_v, 0.0F);  // products may have left anything there
    const std::int64_t head = row.head();
    if (task.partial_out != nullptr) {
      const std::int64_t at = task.partial_row(row.query(), head);
      auto* out = reinterpret_cast<std::byte*>(task.partial_out + at * problem.head_dim_v);
      store_row(o, inverse, 1.0F, problem.head_dim_v, FOVEA_F32, out, 1);
      task.partial_m[at] = m;
      task.partial_ln_l[at] = ln_l;
      continue;
    }
    const std::int64_t s = task.seq.q_begin + row.query();
    const float sink = ops.sink != nullptr ? ops.sink[head * ops.sink_stride] : -infinity;
    const float keep = ops.sink != nullptr && !empty ? 1.0F / (1.0F + std::exp(sink - lse)) : 1.0F;
    store_row(o, inverse, keep, problem.head_dim_v, ops.out.dtype, const_cast<std::byte*>(row.row()), ops.out.stride_d);
    if (ops.lse != nullptr) ops.lse[task.seq.q_batch * ops.lse_b + head * ops.lse_h + s * ops.lse_s] = lse;
  }
}

// Scores of rows [first, first + Engine::kSubRows) of one member against the keys of block n0, where they see any.
template <class Engine>
HWY_INLINE void score_sub_tile(Member& member, std::int64_t first, std::int64_t n0) {
  const TileTask& task = *member.task;
  const std::int64_t begin = std::max<std::int64_t>(member.range.begin - n0, 0);
  const std::int64_t end = std::min(member.range.end - n0, task.plan->tile_n);
  const std::int64_t rows = std::min(Engine::kSubRows, task.used_rows() - first);
  member.rows = 0;
  if (begin >= end || rows <= 0) return;
  VisibilityScan scan(task, Engine::kGroupRows, member.bits(), task.buffer<float>(task.layout.stage));
  member.visible = scan.scan(first, rows, n0);
  if (member.visible.empty()) return;
  member.rows = rows;
  const Engine engine(task);
  if (!member.packed) {
    engine.pack_k(n0, begin, end);
    member.finite = engine.pack_v(n0, begin, end);
    member.packed = true;
  }
  engine.scores(first, rows, member.visible);
}

template <class Engine>
HWY_INLINE void value_sub_tile(const Member& member, std::int64_t first, std::int64_t n0) {
  if (member.rows == 0) return;
  Engine(*member.task).values(first, member.rows, member.visible);
  if (!member.finite) {
    add_nonfinite_values<Engine>(*member.task, n0, first, member.rows, member.visible, member.bits());
  }
}

// The three steps of a sub-tile, each for all members.
template <class Engine>
HWY_INLINE void run_sub_tile(std::span<Member> members, std::int64_t first, std::int64_t n0) {
  for (Member& member : members) score_sub_tile<Engine>(member, first, n0);
  BiasRows bias(n0);
  for (std::int64_t r = 0; r < Engine::kSubRows; ++r) {
    for (const Member& member : members) {
      if (r < member.rows) softmax_row<Engine>(member, first, r, bias);
    }
  }
  for (const Member& member : members) value_sub_tile<Engine>(member, first, n0);
}

HWY_INLINE void clear_sums(const TileTask& task) {
  std::fill_n(task.buffer<float>(task.layout.m), task.layout.rows_pad, kMinusInfinity);
  std::fill_n(task.buffer<float>(task.layout.l), task.layout.rows_pad * kCpuMaxLanes, 0.0F);
  std::fill_n(task.buffer<float>(task.layout.o), task.layout.rows_pad * task.layout.dv_pad, 0.0F);
}

template <class Engine>
HWY_INLINE void run_tile(std::span<const TileTask> tasks) {
  [[maybe_unused]] const typename Engine::Session session;
  std::array<Member, kCpuMembersMax> storage;
  const std::span<Member> members(storage.data(), tasks.size());
  KeyRange all{std::numeric_limits<std::int64_t>::max(), 0};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    members[i].task = &tasks[i];
    members[i].range = task_range(tasks[i]);
    clear_sums(tasks[i]);
    const KeyRange& range = members[i].range;
    if (range.begin >= range.end) continue;
    find_score_rows(tasks[i]);
    Engine(tasks[i]).pack_q();
    all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
  }
  const std::int64_t tile_n = tasks[0].plan->tile_n;
  for (std::int64_t n0 = all.begin / tile_n * tile_n; n0 < all.end; n0 += tile_n) {
    for (Member& member : members) member.packed = false;
    for (std::int64_t first = 0; first < tasks[0].rows; first += Engine::kSubRows) {
      run_sub_tile<Engine>(members, first, n0);
    }
  }
  for (const TileTask& task : tasks) write_rows(task);
}

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();
#endif
