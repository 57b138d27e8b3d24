// run_forward: cuts a planned call into tile tasks, runs them on all threads, merges split-KV partial results.
#include "backend/cpu/forward.h"

#include <algorithm>
#include <array>
#include <span>

#include "backend/cpu/tile.h"
#include "core/cpu_features.h"

namespace fovea::cpu {
namespace {

// What one thread scratch and the call share; offsets are multiples of 64.
struct WorkspaceMap {
  std::uint64_t tiles = 0;    // [batch groups + 1] int64: number of row tiles before each group of tile_batches entries
  std::uint64_t parts = 0;    // [num_splits] PartView
  std::uint64_t partial = 0;  // [num_splits][total_q * num_heads_q] x (head_dim_v + 2) fp32
  std::uint64_t scratch = 0;  // [num_threads][scratch_bytes]
  std::uint64_t bytes = 0;
};

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

WorkspaceMap workspace_map(const Plan& plan) {
  WorkspaceMap map;
  map.parts = aligned((static_cast<std::uint64_t>(plan.problem.batch) + 1) * sizeof(std::int64_t));
  map.partial = map.parts + aligned(static_cast<std::uint64_t>(plan.num_splits) * sizeof(PartView));
  map.scratch = map.partial + aligned(plan.partial_bytes);
  map.bytes = map.scratch + static_cast<std::uint64_t>(plan.num_threads) * plan.scratch_bytes;
  return map;
}

class ForwardRun {
 public:
  ForwardRun(const Plan& plan, const ForwardOperands& operands, std::byte* memory)
      : plan_(plan),
        problem_(plan.problem),
        operands_(operands),
        map_(workspace_map(plan)),
        memory_(memory),
        layout_(cpu_tile_layout(problem_, plan.choice.kernel, plan.tile_m, plan.tile_n,
                                plan.tile_heads * plan.tile_batches)),
        group_(problem_.num_heads_q / problem_.num_heads_kv),
        batch_groups_((problem_.batch + plan.tile_batches - 1) / plan.tile_batches),
        head_groups_((problem_.num_heads_kv + plan.tile_heads - 1) / plan.tile_heads),
        base_row_(problem_.q_layout == QLayout::varlen ? operands.cu_seqlens_q.at(0) : 0),
        partial_rows_(problem_.total_q * problem_.num_heads_q) {
    std::int64_t* tiles = at<std::int64_t>(map_.tiles);
    tiles[0] = 0;
    for (std::int64_t g = 0; g < batch_groups_; ++g)
      tiles[g + 1] = tiles[g] + row_tiles(sequence(problem_, operands_, g * plan_.tile_batches));
  }

  std::int64_t tasks() const { return at<std::int64_t>(map_.tiles)[batch_groups_] * head_groups_ * plan_.num_splits; }

  void run_task(std::int64_t index, int slot) const {
    std::array<TileTask, kCpuMembersMax> storage;
    const std::span<const TileTask> members = make_members(index, slot, storage);
    if (plan_.choice.kernel == KernelId::cpu_fwd_amx_bf16) return tile_amx_bf16(members);
    tile_f32(members);
  }

  void merge_splits(ThreadPool& pool) const {
    MergeOperands merge = split_merge();
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      const Sequence seq = sequence(problem_, operands_, b);
      pool.for_each(seq.q_rows, [&](std::int64_t i, int) {
        for (std::int64_t h = 0; h < problem_.num_heads_q; ++h)
          merge_row(merge, seq.q_batch, seq.q_begin - base_row_ + i, h);
      });
    }
  }

 private:
  template <class T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  std::int64_t row_tiles(const Sequence& seq) const { return (group_ * seq.q_rows + plan_.tile_m - 1) / plan_.tile_m; }
  float* partial_out(std::int64_t split) const {
    return at<float>(map_.partial) + static_cast<std::uint64_t>(split) * cpu_partial_floats(problem_, partial_rows_);
  }
  float* partial_m(std::int64_t split) const { return partial_out(split) + partial_rows_ * problem_.head_dim_v; }

  // Order: group of batch entries, group of kv heads, row tile from the last (most keys under causal) to the first,
  // split.
  std::span<const TileTask> make_members(std::int64_t index, int slot,
                                         std::array<TileTask, kCpuMembersMax>& storage) const {
    const std::int64_t per_tile = head_groups_ * plan_.num_splits;
    const std::int64_t* tiles = at<std::int64_t>(map_.tiles);
    const std::int64_t g = std::upper_bound(tiles, tiles + batch_groups_ + 1, index / per_tile) - tiles - 1;
    const std::int64_t count = tiles[g + 1] - tiles[g];
    const std::int64_t inside = index - tiles[g] * per_tile;
    const std::int64_t split = inside % plan_.num_splits;
    const std::int64_t tile = count - 1 - inside / plan_.num_splits % count;
    const std::int64_t first_head = inside / (plan_.num_splits * count) * plan_.tile_heads;

    std::size_t used = 0;
    for (std::int64_t i = 0; i < plan_.tile_heads * plan_.tile_batches; ++i) {
      const std::int64_t b = g * plan_.tile_batches + i % plan_.tile_batches;
      const std::int64_t head = first_head + i / plan_.tile_batches;
      if (b >= problem_.batch || head >= problem_.num_heads_kv) continue;
      storage[used] = make_member(b, head, tile, split, slot);
      storage[used].layout = layout_.of_member(i);
      ++used;
    }
    return {storage.data(), used};
  }

  TileTask make_member(std::int64_t b, std::int64_t head, std::int64_t tile, std::int64_t split, int slot) const {
    TileTask task{.plan = &plan_, .operands = &operands_, .layout = layout_, .seq = sequence(problem_, operands_, b)};
    task.b = b;
    task.kv_head = head;
    task.group = group_;
    task.row_begin = tile * plan_.tile_m;
    task.rows = std::min(plan_.tile_m, group_ * task.seq.q_rows - task.row_begin);
    task.key_begin = split * plan_.split_keys;
    task.key_end =
        plan_.num_splits == 1 ? task.seq.kv_used : std::min(task.seq.kv_used, task.key_begin + plan_.split_keys);
    task.scratch = at<std::byte>(map_.scratch) + static_cast<std::uint64_t>(slot) * plan_.scratch_bytes;
    if (plan_.num_splits > 1) {
      task.partial_out = partial_out(split);
      task.partial_m = partial_m(split);
      task.partial_ln_l = task.partial_m + partial_rows_;
      task.partial_base = base_row_;
    }
    return task;
  }

  MergeOperands split_merge() const {
    const std::int64_t heads = problem_.num_heads_q;
    const std::int64_t dv = problem_.head_dim_v;
    const bool dense = problem_.q_layout == QLayout::dense;
    PartView* parts = at<PartView>(map_.parts);
    const std::int64_t rows = dense ? problem_.seqlen_q : 0;
    for (std::int64_t split = 0; split < plan_.num_splits; ++split) {
      const RowView out{partial_out(split), FOVEA_F32, rows * heads * dv, heads * dv, dv, 1};
      parts[split] = {out, partial_m(split), partial_m(split) + partial_rows_, rows * heads, 1, heads};
    }
    MergeOperands merge;
    merge.parts = {parts, static_cast<std::size_t>(plan_.num_splits)};
    merge.result = {operands_.out, operands_.lse, nullptr, operands_.lse_b, operands_.lse_h, operands_.lse_s};
    // Partial rows count from base_row_, so the result does too.
    merge.result.out.data = const_cast<std::byte*>(address(operands_.out, 0, base_row_, 0));
    if (merge.result.lse != nullptr) merge.result.lse += base_row_ * operands_.lse_s;
    merge.sink = operands_.sink;
    merge.sink_stride = operands_.sink_stride;
    merge.heads = heads;
    merge.head_dim = dv;
    return merge;
  }

  const Plan& plan_;
  const Problem& problem_;
  const ForwardOperands& operands_;
  WorkspaceMap map_;
  std::byte* memory_;
  CpuTileLayout layout_;
  std::int64_t group_;
  std::int64_t batch_groups_;
  std::int64_t head_groups_;
  std::int64_t base_row_;
  std::int64_t partial_rows_;
};

}  // namespace

Check run_forward(const Plan& plan, const ForwardOperands& operands, ThreadPool& pool, Workspace& workspace) {
  const WorkspaceMap map = workspace_map(plan);
  auto* memory = static_cast<std::byte*>(workspace.reserve(map.bytes));
  if (memory == nullptr) {
    return Error{FOVEA_OUT_OF_MEMORY, std::to_string(map.bytes) + " bytes of scratch memory",
                 "what the system can give",
                 "each thread packs its key and value blocks; split-KV keeps partial results",
                 "use fewer threads, or num_splits=1"};
  }
  const ForwardRun run(plan, operands, memory);
  pool.for_each(run.tasks(), [&run](std::int64_t task, int slot) { run.run_task(task, slot); });
  if (plan.num_splits > 1) run.merge_splits(pool);
  return {};
}

}  // namespace fovea::cpu
