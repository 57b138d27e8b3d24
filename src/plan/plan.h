// Plan: Problem + Choice + Caps -> the geometry of the run. Pure: equal inputs give equal plans.
#pragma once

#include <cstdint>
#include <string>

#include "plan/tile_order.h"
#include "select/problem.h"
#include "select/select.h"

namespace fovea {

struct Plan {
  Problem problem;
  Choice choice;
  std::int64_t tile_m = 0;  // query rows per task (cpu: all query heads of one kv head packed, row = i*group + g)
  std::int64_t tile_n = 0;  // keys per block
  // kv heads and batch entries of one task: above 1 where they read the same rows of mask and bias (not both above 1)
  std::int64_t tile_heads = 1;
  std::int64_t tile_batches = 1;
  std::int32_t num_splits = 1;  // parts of the key range that run as separate tasks and are merged
  std::int64_t split_keys = 0;  // keys per split, a multiple of tile_n; 0 on a GPU: equal parts of what a sequence uses
  std::int32_t num_threads = 1;
  std::uint64_t scratch_bytes = 0;  // per thread
  std::uint64_t partial_bytes = 0;  // split-KV partial results, all tasks
  std::int64_t grid = 0;            // CTAs; 0 unless a GPU kernel runs
  std::int64_t tiles_m = 0;         // tiles of one head and batch entry; varlen: of one head
  TileOrder order = {};             // likewise
  std::uint64_t smem_bytes = 0;     // per CTA
  std::uint64_t digest = 0;

  bool operator==(const Plan&) const = default;
};

Plan make_plan(const Problem& problem, const Choice& choice, const Caps& caps);
std::string to_string(const Plan& plan);

}  // namespace fovea
