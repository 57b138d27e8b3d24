// A launch from its configuration to its report: checks, the waves of clusters, faults, pending asynchronous work.
#include "model/launch.h"

#include <algorithm>

#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
constexpr u32 kKib = 1024;

u32 architecture_limit(int sm) {
  switch (sm) {
    case 80:
      return 163 * kKib;
    case 86:
    case 89:
    case 120:
      return 99 * kKib;
    case 90:
    case 100:
      return 227 * kKib;
    default:
      return 0;
  }
}

std::string config_problem(const LaunchConfig& c) {
  const u32 limit = architecture_limit(c.sm);
  if (limit == 0) return format("sm_%d is not an architecture of this model: 80, 86, 89, 90, 100, 120", c.sm);
  if (c.threads == 0 || c.threads > 1024 || c.threads % 32 != 0) {
    return format("%u threads: a multiple of 32 up to 1024 is needed", c.threads);
  }
  if (c.smem_bytes > (c.smem_limit != 0 ? std::min(limit, c.smem_limit) : limit)) {
    return format("%u bytes of shared memory; the limit is %u on sm_%d", c.smem_bytes,
                  c.smem_limit != 0 ? std::min(limit, c.smem_limit) : limit, c.sm);
  }
  if (c.grid_x == 0 || c.grid_y == 0 || c.grid_z == 0 || c.grid_y > 65535 || c.grid_z > 65535) {
    return format("grid (%u,%u,%u) is empty or beyond 65535 in y or z", c.grid_x, c.grid_y, c.grid_z);
  }
  if (c.cluster == 0 || c.cluster > 16 || c.grid_x % c.cluster != 0) {
    return format("cluster of %u CTAs: 1 to 16, dividing grid_x (%u), is needed", c.cluster, c.grid_x);
  }
  if (c.cluster > 1 && c.sm < 90) return format("clusters need sm_90, this launch is for sm_%d", c.sm);
  if (c.cluster > 1 && c.sm == 120) return "sm_120 has clusters of one CTA only";
  if (c.resident_clusters == 0) return "resident_clusters is 0";
  if (c.registers_per_thread > 255) return format("%u registers per thread; 255 at most", c.registers_per_thread);
  return {};
}
}  // namespace

Machine::Machine(const LaunchConfig& launch_config, std::span<const Region> memory, void (*kernel)(const void*),
                 const void* kernel_params)
    : config(launch_config),
      global(memory),
      scheduler(*this, launch_config),
      entry(kernel),
      params(kernel_params),
      stacks_(launch_config.threads * launch_config.cluster * launch_config.resident_clusters) {}

Report Machine::run() {
  if (!stacks_.ok()) fault_ = Fault{Code::launch_config, "no memory for the stacks of the threads"};
  const u32 clusters = config.grid_x / config.cluster * config.grid_y * config.grid_z;
  for (u32 first = 0; first < clusters && !fault_; first += config.resident_clusters) {
    run_wave(first, std::min(config.resident_clusters, clusters - first));
  }
  counters.fibre_switches = scheduler.switches();
  return {std::move(fault_), counters};
}

void Machine::run_wave(u32 first, u32 count) {
  clusters_.clear();
  std::vector<Warp*> warps;
  for (u32 i = 0; i < count; ++i) {
    clusters_.push_back(make_cluster(first + i, i));
    for (const auto& cta : clusters_.back()->ctas) {
      for (Warp& warp : cta->warps) warps.push_back(&warp);
    }
  }
  live_threads_ = static_cast<u32>(warps.size()) * 32;
  scheduler.run(warps);
  while (!fault_ && !pending_.empty()) land_any();
}

void Machine::fail(const Thread& self, Code code, std::string_view text) {
  if (!fault_) fault_ = Fault{code, self.name() + ": " + std::string(text)};
  scheduler.leave();
}

void Machine::fail_everywhere(Code code, std::string_view text) {
  if (!fault_) fault_ = Fault{code, std::string(text)};
  scheduler.leave();
}

u32 Machine::issue(std::function<void()> land) {
  if (config.landing == AsyncLanding::eager) {
    land();
    return 0;
  }
  pending_.push_back({next_operation_, std::move(land)});
  return next_operation_++;
}

void Machine::finish(u32 operation) {
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.id == operation; });
  if (found == pending_.end()) return;
  const std::function<void()> land = std::move(found->land);
  pending_.erase(found);
  land();
}

bool Machine::land_any() {
  if (pending_.empty()) return false;
  finish(pending_[scheduler.random().below(static_cast<u32>(pending_.size()))].id);
  return true;
}

Report launch(const LaunchConfig& config, std::span<const Region> memory, void (*entry)(const void*),
              const void* params) {
  const std::string problem = config_problem(config);
  if (!problem.empty()) return {Fault{Code::launch_config, problem}, {}};
  Machine machine(config, memory, entry, params);
  return machine.run();
}

}  // namespace fovea::model
