// Thread, Warp, Cta and Cluster: the state of one GPU thread and of the groups that it belongs to. Thread implements
// every instruction; each family's semantics stand in its own file of this directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/machine.h"
#include "model/runtime/mbarrier_object.h"
#include "model/runtime/scheduler.h"
#include "model/runtime/shared_memory.h"

namespace fovea::model {

struct Cta;
struct Cluster;
struct Warp;

// One entry of a thread's history of proxy fences: its epoch then, and the cp.async stage that it had waited for.
struct ProxyFence {
  Epoch epoch;
  Epoch copies_waited;
};

// A cp.async between issue and landing. `stage` is the copy agent's epoch that a waiter observes.
struct PendingCopy {
  u32 offset;
  const u8* source;
  u8 size, source_bytes;
  bool landed;
  Epoch stage;
};

// A bulk store between issue and wait_group. `take` reads its source, if that has not happened.
struct BulkStore {
  u32 group;
  u32 operation;  // the machine's, 0 when it has landed
  std::function<void()> take;
};

// What a warp-wide instruction is; lanes of one execution agree in both.
enum class Collective : u8 {
  none,
  ldmatrix,
  stmatrix,
  movmatrix,
  mma,
  bar,
  warp_sync,
  shfl,
  vote,
  redux,
  elect,
  wgmma,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  setmaxnreg,
  cluster_barrier
};
const char* to_string(Collective op);

enum class Waiting : u8 { nothing, collective, barrier, mbarrier, cluster, registers, products, exited };

struct Thread final : ThreadPort {
  Machine* machine = nullptr;
  Warp* warp = nullptr;
  u32 lane = 0;
  u32 tid = 0;  // in the CTA
  const char* role = "";
  Continuation fibre;

  Waiting waiting = Waiting::nothing;
  u32 wait_address = 0, wait_detail = 0;  // mbarrier and parity, or barrier id

  OwnClock clock;
  std::vector<ProxyFence> fences;

  std::vector<PendingCopy> copies;
  std::size_t copies_begin = 0;
  Epoch copy_stage = 1;            // of the next copy
  std::vector<Epoch> copy_groups;  // last stage of each committed group

  std::vector<BulkStore> bulk_stores;  // not yet known to be written
  u32 bulk_group = 1;                  // number of the group not yet committed
  u32 smem_accesses = 0;               // since the last warp-wide instruction

  Cta& cta() const;
  Cluster& cluster() const;
  std::string name() const;  // thread, warp, CTA and role
  void finish();             // the kernel has returned

  // Families.
  u32 special(Special which) override;
  [[noreturn]] void trap() override;
  void set_role(const char* name) override;
  void load_global(void* value, const void* address, u32 bytes, GlobalLoad kind) override;
  void store_global(void* address, const void* value, u32 bytes, GlobalStore kind) override;
  u32 atomic_global(Atomic op, u32* address, u32 operand) override;
  void red_add_global(f32* address, const f32* values, u32 count) override;
  void load_shared(void* value, u32 address, u32 bytes) override;
  void store_shared(u32 address, const void* value, u32 bytes) override;
  void ldmatrix(u32* regs, u32 address, u32 count, bool trans) override;
  void stmatrix(u32 address, const u32* regs, u32 count, bool trans) override;
  u32 movmatrix(u32 value) override;
  void mma(Mma op, const u32* a, const u32* b, const u32* c, u32* d) override;
  void cp_async(u32 dst, const void* src, u32 size, u32 src_bytes, CacheOp cache) override;
  void cp_async_commit_group() override;
  void cp_async_wait_group(u32 newest_pending) override;
  void cp_async_wait_all() override;
  void cp_async_mbarrier_arrive(u32 mbar, bool noinc) override;
  u32 bar(Bar kind, u32 id, u32 threads, bool predicate) override;
  void bar_warp_sync(u32 mask) override;
  void fence(Fence kind) override;
  u64 mbarrier(Mbarrier op, u32 address, u32 operand) override;
  bool mbarrier_test(MbarrierTest kind, u32 address, u64 operand) override;
  void mbarrier_wait_parity(u32 address, u32 parity) override;
  u32 mbarrier_pending_count(u64 state) override;
  u32 shfl(Shfl mode, u32 value, u32 operand) override;
  u32 vote(Vote mode, bool predicate) override;
  u32 redux(Redux op, u32 value) override;
  bool elect_sync() override;
  u32 cvt(Cvt op, u32 high, u32 low) override;
  u32 math(Math op, u32 a, u32 b, u32 c, u32 immediate) override;
  void tma(const TmaArgs& args) override;
  void prefetch_tensormap(const TensorMap* map) override;
  void bulk(BulkOp op, u32 smem, void* other, u32 remote, u32 bytes, u32 mbar) override;
  void bulk_commit_group() override;
  void bulk_wait_group(u32 newest_pending, bool read_only) override;
  void wgmma_fence() override;
  void wgmma(const WgmmaArgs& args) override;
  void wgmma_commit_group() override;
  void wgmma_wait_group(u32 newest_pending) override;
  void cluster_barrier(ClusterOp op) override;
  u32 mapa(u32 address, u32 rank) override;
  u32 load_shared_cluster(u32 address) override;
  void store_shared_cluster(u32 address, u32 value) override;
  void store_async(u32 address, u32 value, u32 mbar, bool add) override;
  void setmaxnreg(u32 registers, bool increase) override;
  void griddepcontrol(GridOp op) override;

  // Warp-wide instructions. gather: true in the lane that arrives last and acts for the warp; the others wait.
  bool gather(Collective op, u32 detail, void* operands);
  template <class Run>
  void collective(Collective op, u32 detail, void* operands, Run run);

  // Checks that families share; `instruction` is the PTX name.
  void need_sm(int sm, const char* instruction) const;
  void need_defined(u32 value, const char* instruction, const char* operand) const;
  u32 own_offset(u32 address, u32 bytes, u32 alignment, const char* instruction) const;
  Cta& cta_of(u32 address, u32 bytes, u32 alignment, const char* instruction) const;
  Access access(Writer writer = Writer::generic) const;
  void read_shared(Cta& where, u32 offset, u32 bytes, const Access& access, const char* instruction) const;
  void write_shared(Cta& where, u32 offset, u32 bytes, const Access& access, const char* instruction) const;
  void need_global(const void* address, u64 bytes, u64 alignment, bool write, const char* instruction) const;
  // The live mbarrier there, its initialisation observed; and one update of its counts, which may end the phase.
  MbarrierObject& mbarrier_object(Cta& where, u32 offset, const char* instruction) const;
  void mbarrier_count(Cta& where, u32 offset, u32 arrivals, i64 tx, const char* instruction) const;
  [[noreturn]] void fail(Code code, const std::string& text) const;
  void set_base(ClockBase* base);  // takes over one reference
};

struct Warp {
  Cta* cta = nullptr;
  u32 index = 0;  // in the CTA
  Thread* lanes = nullptr;
  u32 runnable = 0, exited = 0;
  u32 ready_position = ~0U;  // in the scheduler's list
  u32 priority = 0;          // run_ahead: smaller goes first

  Collective op = Collective::none;  // the warp-wide instruction that is gathering lanes
  u32 detail = 0;
  u32 arrived = 0;
  void* operands[32] = {};
  u32 partial[32] = {};  // mask of the bar.warp.sync that a lane waits at, when it is not the full one
  u32 partial_lanes = 0;

  u32 cluster_arrivals = 0, cluster_waits = 0;
  u32 registers = 0, wanted_registers = 0;  // setmaxnreg
};

struct NamedBarrier {
  u32 expected = 0, arrived = 0;  // threads; 0 expected: idle
  u32 popc = 0;
  bool reduces = false;
  std::vector<Epoch> clock;
  std::vector<Warp*> waiting;
};

}  // namespace fovea::model
