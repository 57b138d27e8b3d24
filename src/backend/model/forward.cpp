// Source, parameters and grid are those of the cuda backend; regions, schedule and the number of persistent CTAs are
// the model's own.
#include "backend/model/forward.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "backend/model/regions.h"
#include "core/text.h"
#include "device/spec/fwd_wgmma_params.h"
#include "model/tensor_map.h"
#include "plan/fwd_params.h"
#include "plan/tensor_maps.h"
#include "select/fwd_mma.h"
#include "select/specs.h"

namespace fovea::model {

namespace {

// CTAs of a persistent kernel: few, so that each computes several tiles.
constexpr std::int64_t kCtas = 3;

std::string encode(TensorMap& to, const RowMap& map) {
  TiledMap tiled;
  tiled.type = map.dtype == FOVEA_BF16 ? MapType::bf16 : MapType::f16;
  tiled.rank = 4;
  tiled.base = map.base;
  std::copy_n(map.dim, 4, tiled.dim);
  std::copy_n(map.stride_bytes, 3, tiled.stride);
  tiled.box[0] = 64, tiled.box[1] = map.box_rows, tiled.box[2] = map.box_queries;
  tiled.swizzle = MapSwizzle::bytes_128;
  return encode_tiled(&to, tiled);
}

Result<Report> run_wgmma(const Plan& plan, const ForwardOperands& operands, std::vector<Region> regions,
                         Modules& modules, const Settings& settings) {
  const KernelSource source = kernel_source(plan.choice.spec);
  const Result<Module> module = modules.get(source);
  if (!module.ok()) return module.error();
  FwdWgmmaParams params;
  const ForwardMaps maps = forward_maps(plan, operands);
  for (const auto& [to, map] : map_places(maps, params)) {
    if (map == nullptr) continue;
    const std::string refusal = encode(*to, *map);
    if (!refusal.empty()) {
      return Error{.status = FOVEA_INTERNAL,
                   .asked = "a tensor map for fwd_wgmma",
                   .allowed = "what cuTensorMapEncodeTiled takes",
                   .why = refusal,
                   .hint = "supports_fwd_wgmma() should have refused the call: please report this message"};
    }
  }
  params.fwd = make_fwd_params(plan, operands, nullptr);
  u32 counter[2] = {0, 0};
  regions.push_back({.base = counter, .bytes = sizeof(counter), .writable = true, .name = "tile counter"});
  params.counter = counter;
  params.tiles = static_cast<u32>(plan.grid);
  LaunchConfig config = launch_config(source, std::min(plan.grid, kCtas), settings);
  config.registers_per_thread = 65536 / static_cast<u32>(source.threads) / 8 * 8;  // as the launch bounds leave them
  return launch(config, regions, module.value().entry, &params);
}

}  // namespace

Result<Report> run_forward(const Plan& plan, const ForwardOperands& operands, Modules& modules,
                           const Settings& settings) {
  const SplitParts split = split_parts(plan, operands);
  std::vector<float> parts(split.bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  std::vector<Region> regions = forward_regions(plan.problem, operands);
  if (split.bytes > 0) {
    regions.push_back({.base = parts.data(), .bytes = split.bytes, .writable = true, .name = "split parts"});
  }
  if (plan.choice.kernel == KernelId::fwd_wgmma) return run_wgmma(plan, operands, regions, modules, settings);
  const KernelSource source = kernel_source(plan.choice.spec);
  const Result<Module> module = modules.get(source);
  if (!module.ok()) return module.error();
  const FwdParams params = make_fwd_params(plan, operands, parts.data());
  Report report = launch(launch_config(source, plan.grid, settings), regions, module.value().entry, &params);
  if (split.bytes == 0 || report.fault) return report;

  const KernelSource merging = kernel_source(combine_spec(plan.problem));
  const Result<Module> merge = modules.get(merging);
  if (!merge.ok()) return merge.error();
  const CombineParams combine = make_combine_params(plan, operands, parts.data());
  const Report merged =
      launch(launch_config(merging, split.combine_grid, settings), regions, merge.value().entry, &combine);
  report.fault = merged.fault;
  return report;
}

}  // namespace fovea::model
