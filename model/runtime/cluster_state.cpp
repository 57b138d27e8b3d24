// Building the CTAs of a cluster, and what is known about the cluster as a whole: names of clock components, proxy
// fences, and who waits for what when nobody can go on.
#include <algorithm>
#include <map>

#include "model/runtime/machine.h"
#include "model/runtime/text.h"
#include "model/runtime/warpgroup.h"

namespace fovea::model {

namespace {
constexpr u32 kAgentsPerCta = 96;  // mbarriers and threads that issue bulk copies
}

std::unique_ptr<Cluster> Machine::make_cluster(u32 index, u32 slot) {
  auto cluster = std::make_unique<Cluster>();
  cluster->machine = this;
  cluster->threads = config.threads * config.cluster;
  const u32 warpgroups = (config.threads + 127) / 128 * config.cluster;
  cluster->next_agent = 2 * cluster->threads + warpgroups;
  cluster->clocks = std::make_unique<ClockPool>(cluster->next_agent + kAgentsPerCta * config.cluster);
  cluster->barrier_clock.resize(cluster->clocks->width());
  for (u32 rank = 0; rank < config.cluster; ++rank) make_cta(*cluster, rank, index, slot);
  return cluster;
}

void Machine::make_cta(Cluster& cluster, u32 rank, u32 index, u32 slot) {
  auto cta = std::make_unique<Cta>();
  const u32 per_row = config.grid_x / config.cluster;
  cta->machine = this;
  cta->cluster = &cluster;
  cta->rank = rank;
  cta->x = index % per_row * config.cluster + rank;
  cta->y = index / per_row % config.grid_y;
  cta->z = index / per_row / config.grid_y;
  const u32 warps = config.threads / 32;
  cta->smem = std::make_unique<SharedMemory>(config.smem_bytes, warps * config.cluster, cluster);
  cta->mbarrier_at.resize(config.smem_bytes / 8 + 1);
  cta->threads = std::vector<Thread>(config.threads);
  cta->warps.resize(warps);
  cta->banks.resize(warps);
  const u32 warpgroups = (config.threads + 127) / 128;
  for (u32 i = 0; i < warpgroups; ++i) cta->warpgroups.push_back(std::make_shared<WarpgroupState>());
  ClockBase* start = cluster.clocks->acquire();
  std::fill(start->value.begin(), start->value.end(), 0);
  for (u32 i = 0; i < config.threads; ++i) {
    Thread& thread = cta->threads[i];
    thread.machine = this;
    thread.warp = &cta->warps[i / 32];
    thread.lane = i % 32;
    thread.tid = i;
    thread.clock.base = start;
    ++start->references;
    thread.clock.thread = rank * config.threads + i;
    thread.clock.copies = cluster.threads + thread.clock.thread;
    thread.clock.products = 2 * cluster.threads + rank * warpgroups + i / 128;
    const u32 stack = (slot * config.cluster + rank) * config.threads + i;
    thread.fibre.context = stacks_.top(stack, &thread);
  }
  for (u32 i = 0; i < warps; ++i) {
    cta->warps[i].cta = cta.get();
    cta->warps[i].index = i;
    cta->warps[i].lanes = &cta->threads[i * 32];
    const u32 most = std::min(65536 / config.threads, 255U) / 8 * 8;
    cta->warps[i].registers = config.registers_per_thread != 0 ? config.registers_per_thread : most;
  }
  cluster.ctas.push_back(std::move(cta));
}

Thread& Cluster::thread(u32 index) const {
  const u32 per_cta = threads / static_cast<u32>(ctas.size());
  return ctas[index / per_cta]->threads[index % per_cta];
}

u32 Cluster::new_agent(Thread& self) {
  if (next_agent == clocks->width()) {
    self.fail(Code::launch_config,
              format("the model follows at most %u mbarriers and bulk-copying threads per CTA", kAgentsPerCta));
  }
  return next_agent++;
}

bool Cluster::fenced(u32 component, Epoch epoch, const OwnClock& reader) const {
  const bool copy = component >= threads;
  const u32 index = copy ? component - threads : component;
  if (index >= threads) return true;  // bound to an mbarrier: no thread's write
  const Epoch seen = reader.thread == index ? reader.epoch : reader.base->value[index];
  const std::vector<ProxyFence>& fences = thread(index).fences;
  for (auto fence = fences.rbegin(); fence != fences.rend(); ++fence) {
    if (fence->epoch < seen) return copy ? fence->copies_waited >= epoch : fence->epoch >= epoch;
  }
  return false;
}

std::string Cluster::component_name(u32 component) const {
  if (component < threads) return thread(component).name();
  if (component < 2 * threads) return thread(component - threads).name();
  for (const auto& cta : ctas) {
    for (const auto& object : cta->mbarriers) {
      if (object->live && object->agent == component) return "a bulk or cp.async copy that signals an mbarrier";
    }
  }
  return component < 2 * threads + ctas.size() * ctas[0]->warpgroups.size() ? "wgmma of a warpgroup" : "a bulk copy";
}

namespace {
std::string reason(const Thread& thread) {
  const Warp& warp = *thread.warp;
  switch (thread.waiting) {
    case Waiting::collective:
      if (warp.partial[thread.lane] != 0) return format("bar.warp.sync of lanes 0x%08x", warp.partial[thread.lane]);
      return format("%s, lanes arrived 0x%08x", to_string(warp.op), warp.arrived);
    case Waiting::barrier: {
      const NamedBarrier& barrier = thread.cta().barriers[thread.wait_address];
      return format("bar %u, %u of %u threads arrived", thread.wait_address, barrier.arrived, barrier.expected);
    }
    case Waiting::mbarrier: {
      const Cta& cta = thread.cta();
      const u32 offset = (thread.wait_address & ((1U << kRankShift) - 1U)) - kSmemBase;
      const MbarrierObject& object = *cta.mbarriers[cta.mbarrier_at[offset / 8] - 1];
      return format("mbarrier 0x%x for parity %u: phase %u, %u of %u arrivals seen, %lld bytes missing",
                    offset + kSmemBase, thread.wait_detail, object.phase, object.expected - object.pending,
                    object.expected, object.tx);
    }
    case Waiting::cluster:
      return "barrier.cluster.wait";
    case Waiting::registers:
      return "setmaxnreg.inc, for registers of its CTA";
    case Waiting::products:
      return format("wgmma.wait_group: another warp of the warpgroup has not committed group %u", thread.wait_detail);
    case Waiting::nothing:
      return "nothing";
    case Waiting::exited:
      return {};
  }
  return {};
}
}  // namespace

std::string Machine::who_waits() const {
  std::string text;
  u32 exited = 0;
  for (const auto& cluster : clusters_) {
    for (const auto& cta : cluster->ctas) {
      // Lanes of a warp that wait for the same thing are one line.
      for (const Warp& warp : cta->warps) {
        std::map<std::string, std::pair<const Thread*, u32>> groups;
        for (u32 i = 0; i < 32; ++i) {
          const Thread& thread = warp.lanes[i];
          if (thread.waiting == Waiting::exited) {
            ++exited;
            continue;
          }
          auto& group = groups.try_emplace(reason(thread), &thread, 0U).first->second;
          ++group.second;
        }
        for (const auto& [why, group] : groups) {
          text += (text.empty() ? "" : "; ") + group.first->name();
          if (group.second > 1) text += format(" and %u more lanes", group.second - 1);
          text += " at " + why;
        }
      }
    }
  }
  return exited == 0 ? text : text + format("; %u threads have exited", exited);
}

}  // namespace fovea::model
