// Chooses tile sizes, threads and splits for a problem and a kernel. Pure: it looks at no data and allocates nothing.
#include "plan/plan.h"

#include <algorithm>
#include <sstream>

#include "plan/cpu_layout.h"
#include "select/fwd_mma.h"

namespace fovea {
namespace {

// Below this many keys a split costs more than it gains.
constexpr std::int64_t kMinSplitKeys = 512;

struct TileShape {
  std::int64_t tile_m, tile_n;
};

// Largest tiles: K and V blocks, packed queries and sums stay in the level-2 cache while packing K and V is spread over
// tile_m rows.
TileShape largest_tile(KernelId kernel) {
  return kernel == KernelId::cpu_fwd_amx_bf16 ? TileShape{512, 256} : TileShape{768, 128};
}

// Rows per task in batch-invariant mode: whole register tiles of every engine.
constexpr std::int64_t kInvariantTileRows = 192;

std::int32_t choose_splits(const Problem& problem, std::int64_t tasks, int threads) {
  if (problem.requested_splits > 0) return problem.requested_splits;
  if (problem.batch_invariant) {
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(ceil_div(problem.seqlen_kv, std::int64_t{kInvariantSplitKeys}), 1, 256));
  }
  const std::int64_t wanted = ceil_div(2 * std::int64_t{threads}, std::max<std::int64_t>(tasks, 1));
  const std::int64_t useful = problem.seqlen_kv / kMinSplitKeys;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::min(wanted, useful), 1, 256));
}

// What one task's members may take of the level-2 cache.
constexpr std::uint64_t kMemberCacheBytes = std::uint64_t{6} << 18U;

bool same_for_heads(HeadMode mode) { return mode == HeadMode::absent || mode == HeadMode::broadcast; }

// Heads (or batch entries) that read the same rows of mask and bias go into one task, so that all but the first find
// them in cache: as many as fit there, while twice the wanted tasks remain, for these are long. Needs tile_m and
// tile_n.
void choose_members(Plan& plan, std::int64_t tasks, std::int64_t wanted_tasks) {
  const Problem& p = plan.problem;
  if (p.mask == HeadMode::absent && p.bias == HeadMode::absent) return;
  const bool heads = p.num_heads_kv > 1 && same_for_heads(p.mask) && same_for_heads(p.bias);
  const bool batches = !heads && !p.scores_per_batch && p.q_layout == QLayout::dense;
  const std::int64_t sharing = std::max<std::int64_t>(heads ? p.num_heads_kv : batches ? p.batch : 1, 1);
  const std::uint64_t member = cpu_tile_layout(p, plan.choice.kernel, plan.tile_m, plan.tile_n, 1).member_bytes;
  const std::int64_t fit = std::min(static_cast<std::int64_t>(kMemberCacheBytes / member), kCpuMembersMax);
  const std::int64_t most = std::clamp<std::int64_t>(std::min(fit, tasks / (2 * wanted_tasks)), 1, sharing);
  (heads ? plan.tile_heads : plan.tile_batches) = ceil_div(sharing, ceil_div(sharing, most));
}

std::uint64_t plan_digest(const Plan& plan) {
  std::uint64_t hash = digest(plan.problem);
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(plan.choice.kernel), static_cast<std::uint64_t>(plan.tile_m),
        static_cast<std::uint64_t>(plan.tile_n), static_cast<std::uint64_t>(plan.tile_heads),
        static_cast<std::uint64_t>(plan.tile_batches), static_cast<std::uint64_t>(plan.num_splits),
        static_cast<std::uint64_t>(plan.split_keys), static_cast<std::uint64_t>(plan.num_threads),
        std::uint64_t{digest(plan.choice.spec)}, static_cast<std::uint64_t>(plan.grid),
        static_cast<std::uint64_t>(plan.order.heads_in_flight), static_cast<std::uint64_t>(plan.order.head_groups)}) {
    hash = (hash ^ word) * 0x100000001b3ULL;
  }
  return hash;
}

Plan make_cpu_plan(const Problem& problem, const Choice& choice, const Caps& caps) {
  Plan plan{.problem = problem, .choice = choice, .num_threads = std::max(caps.num_threads, 1)};
  // Of a group of heads.
  const std::int64_t rows =
      problem.num_heads_q > 0 ? std::max<std::int64_t>(heads_per_group(problem) * problem.seqlen_q, 1) : 1;
  const std::int64_t pairs = problem.batch * problem.num_heads_kv;

  const TileShape largest = largest_tile(choice.kernel);
  plan.tile_m = largest.tile_m;
  const std::int64_t wanted_tasks = std::int64_t{plan.num_threads} * (problem.causal ? 4 : 2);
  while (plan.tile_m / 2 >= kCpuMinTileRows && pairs * ceil_div(rows, plan.tile_m) < wanted_tasks) plan.tile_m /= 2;
  const std::int64_t even = ceil_div(rows, ceil_div(rows, plan.tile_m));  // rows of one task when all have as many
  plan.tile_m = ceil_div<std::int64_t>(even, 16) * 16;
  plan.tile_n = std::min(largest.tile_n, std::max<std::int64_t>(ceil_div(problem.seqlen_kv, kCpuPanel), 1) * kCpuPanel);
  if (problem.batch_invariant) {  // nothing that follows from the number or the length of other requests
    plan.tile_m = kInvariantTileRows;
    plan.tile_n = largest.tile_n;
  }

  const std::int64_t row_tiles = ceil_div(rows, plan.tile_m);
  if (!problem.batch_invariant) choose_members(plan, pairs * row_tiles, wanted_tasks);
  const std::int64_t tasks =
      ceil_div(problem.batch, plan.tile_batches) * ceil_div(problem.num_heads_kv, plan.tile_heads) * row_tiles;
  plan.num_splits = choose_splits(problem, tasks, plan.num_threads);
  plan.split_keys =
      problem.batch_invariant && problem.requested_splits == 0
          ? kInvariantSplitKeys
          : ceil_div(ceil_div<std::int64_t>(problem.seqlen_kv, plan.num_splits), plan.tile_n) * plan.tile_n;
  plan.split_keys = std::max(plan.split_keys, plan.tile_n);

  plan.scratch_bytes =
      cpu_tile_layout(problem, choice.kernel, plan.tile_m, plan.tile_n, plan.tile_heads * plan.tile_batches).bytes;
  if (plan.num_splits > 1) {
    const std::int64_t total_rows = problem.total_q * problem.num_heads_q;
    plan.partial_bytes = 4 * static_cast<std::uint64_t>(plan.num_splits) * cpu_partial_floats(problem, total_rows);
  }
  return plan;
}

Plan make_gpu_plan(const Problem& problem, const Choice& choice, const GpuCaps& gpu) {
  Plan plan{.problem = problem, .choice = choice};
  plan.tile_m = choice.spec.tile_m;
  plan.tile_n = choice.spec.tile_n;
  plan.num_splits = choice.num_splits;
  plan.split_keys = problem.batch_invariant && problem.requested_splits == 0 ? kInvariantSplitKeys : 0;
  const bool grouped = choice.spec.rows == Rows::group;
  const std::int64_t group = heads_per_group(problem);
  const std::int64_t heads = grouped ? problem.num_heads_kv : problem.num_heads_q;
  const bool packed = problem.q_layout == QLayout::varlen;
  const std::int64_t rows = (grouped ? group : 1) * (packed ? problem.total_q : problem.seqlen_q);
  // Packed sequences begin a tile each: at most one more than their rows fill.
  plan.tiles_m = packed ? rows / plan.tile_m + problem.batch : ceil_div(rows, plan.tile_m);
  const std::int64_t head_tiles = packed ? heads : problem.batch * heads;
  plan.grid = head_tiles * plan.tiles_m * plan.num_splits;
  plan.order = tile_order(problem, {.heads = head_tiles,
                                    .sharing = grouped ? 1 : group,
                                    .tiles_m = plan.tiles_m,
                                    .ctas = std::int64_t{gpu.num_sms} * choice.spec.min_ctas});
  plan.smem_bytes = plan_smem(choice.spec).bytes;
  return plan;
}

}  // namespace

Plan make_plan(const Problem& problem, const Choice& choice, const Caps& caps) {
  Plan plan = on_gpu(choice.kernel)
                  ? make_gpu_plan(problem, choice, problem.device == FOVEA_DEVICE_CPU ? caps.model : caps.gpu)
                  : make_cpu_plan(problem, choice, caps);
  plan.digest = plan_digest(plan);
  return plan;
}

std::string to_string(const Plan& plan) {
  std::ostringstream text;
  text << name(plan.choice.kernel);
  if (on_gpu(plan.choice.kernel)) {
    text << " grid=" << plan.grid << " threads=" << plan.choice.spec.threads() << " smem_bytes=" << plan.smem_bytes
         << " num_splits=" << plan.num_splits << " split_keys=" << plan.split_keys
         << " heads_in_flight=" << plan.order.heads_in_flight << " head_groups=" << plan.order.head_groups
         << " spec=" << to_cpp(plan.choice.spec) << " digest=" << std::hex << plan.digest;
    return text.str();
  }
  text << " tile_m=" << plan.tile_m << " tile_n=" << plan.tile_n << " tile_heads=" << plan.tile_heads
       << " tile_batches=" << plan.tile_batches << " num_splits=" << plan.num_splits
       << " split_keys=" << plan.split_keys << " threads=" << plan.num_threads
       << " scratch_bytes=" << plan.scratch_bytes << " partial_bytes=" << plan.partial_bytes << " digest=" << std::hex
       << plan.digest;
  return text.str();
}

}  // namespace fovea
