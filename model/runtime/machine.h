// Machine: one launch. Owns the clusters that are resident, the global memory map, pending asynchronous operations and
// the report; instruction families reach all of it through their thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/runtime/banks.h"
#include "model/runtime/global_memory.h"
#include "model/runtime/scheduler.h"
#include "model/runtime/stacks.h"
#include "model/runtime/thread.h"

namespace fovea::model {

struct WarpgroupState;

struct Cta {
  Machine* machine = nullptr;
  Cluster* cluster = nullptr;
  u32 rank = 0;  // in the cluster
  u32 x = 0, y = 0, z = 0;
  u32 exited = 0;  // threads
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<BankRecorder> banks;  // per warp
  std::unique_ptr<SharedMemory> smem;
  NamedBarrier barriers[16];
  std::vector<u32> mbarrier_at;  // per 8 bytes: 0, or 1 + index
  std::vector<std::unique_ptr<MbarrierObject>> mbarriers;
  std::vector<std::shared_ptr<WarpgroupState>> warpgroups;
  u32 spare_registers = 0;  // given back by setmaxnreg.dec
  std::vector<Warp*> register_waiting;
  void grant_registers();
};

// CTAs that share distributed shared memory, and the clock components of their threads and agents:
// threads | cp.async agents | wgmma agents, one per warpgroup | agents handed out on demand.
struct Cluster final : ProxyFences {
  Machine* machine = nullptr;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::unique_ptr<ClockPool> clocks;
  u32 threads = 0, next_agent = 0;
  u32 barrier_phase = 0;
  std::vector<Epoch> barrier_clock;
  std::vector<Warp*> barrier_waiting;
  ClockBase* barrier_complete = nullptr;

  void try_complete_barrier();
  Thread& thread(u32 index) const;
  u32 new_agent(Thread& self);
  bool fenced(u32 component, Epoch epoch, const OwnClock& reader) const override;
  std::string component_name(u32 component) const;
};

class Machine {
 public:
  Machine(const LaunchConfig& config, std::span<const Region> memory, void (*entry)(const void*), const void* params);
  Report run();

  [[noreturn]] void fail(const Thread& self, Code code, std::string_view text);
  [[noreturn]] void fail_everywhere(Code code, std::string_view text);
  std::string who_waits() const;
  bool all_exited() const { return live_threads_ == 0; }
  void thread_exited() { --live_threads_; }

  // Starts an asynchronous operation: lands at once, or when the scheduler or a wait says so. 0: it has landed.
  u32 issue(std::function<void()> land);
  void finish(u32 operation);
  bool land_any();
  void maybe_land() {
    if (config.landing == AsyncLanding::random && !pending_.empty() && scheduler.random().below(4) == 0) land_any();
  }

  const LaunchConfig config;
  GlobalMemory global;
  Counters counters;
  Scheduler scheduler;
  void (*entry)(const void*);
  const void* params;

 private:
  struct Pending {
    u32 id;
    std::function<void()> land;
  };
  void run_wave(u32 first, u32 count);
  std::unique_ptr<Cluster> make_cluster(u32 index, u32 slot);
  void make_cta(Cluster& cluster, u32 rank, u32 index, u32 slot);

  Stacks stacks_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<Pending> pending_;
  u32 next_operation_ = 1;
  u32 live_threads_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace fovea::model
