// Clusters and distributed shared memory, register reallocation, dependent launch (PTX ISA, "barrier.cluster", "mapa",
// "st.async", "red.async", "setmaxnreg", "griddepcontrol").
#include <cstring>

#include "model/runtime/async_copy.h"
#include "model/runtime/collective.h"
#include "model/runtime/join.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
u32 local(u32 address) { return (address & ((1U << kRankShift) - 1U)) - kSmemBase; }

void acquire_cluster(Warp& warp) {
  Cluster& cluster = *warp.cta->cluster;
  ClockBase* base = cluster.clocks->acquire();
  base->value = cluster.barrier_complete->value;
  const ClockBase* seen = nullptr;
  for (u32 i = 0; i < 32; ++i) {
    const ClockBase* own = warp.lanes[i].clock.base;
    if (own != seen) join(base->value, own->value);
    seen = own;
  }
  acquire_lanes(warp, ~0U, base);
  cluster.clocks->release(base);
}
}  // namespace

// The phase ends when every warp that has not exited has arrived.
void Cluster::try_complete_barrier() {
  bool arrived = false;
  for (const auto& cta : ctas) {
    for (const Warp& warp : cta->warps) {
      if (warp.exited != ~0U && warp.cluster_arrivals <= barrier_phase) return;
      arrived = arrived || warp.cluster_arrivals > barrier_phase;
    }
  }
  if (!arrived) return;
  ++barrier_phase;
  if (barrier_complete != nullptr) clocks->release(barrier_complete);
  barrier_complete = clocks->acquire();
  barrier_complete->value = barrier_clock;
  for (Warp* warp : barrier_waiting) {
    acquire_cluster(*warp);
    for (u32 i = 0; i < 32; ++i) warp->lanes[i].waiting = Waiting::nothing;
    machine->scheduler.make_runnable(*warp, ~0U);
  }
  barrier_waiting.clear();
}

void Thread::cluster_barrier(ClusterOp op) {
  const char* name = op == ClusterOp::wait ? "barrier.cluster.wait" : "barrier.cluster.arrive";
  need_sm(90, name);
  collective(Collective::cluster_barrier, static_cast<u32>(op), nullptr, [=, this](Warp& w) {
    Cluster& c = *w.cta->cluster;
    if (op != ClusterOp::wait) {
      if (w.cluster_arrivals > w.cluster_waits) {
        fail(Code::barrier_misuse, format("%s twice without barrier.cluster.wait", name));
      }
      ++w.cluster_arrivals;
      if (op == ClusterOp::arrive) release_lanes(w, ~0U, c.barrier_clock);
      c.try_complete_barrier();
      return true;
    }
    if (w.cluster_waits == w.cluster_arrivals) {
      fail(Code::barrier_misuse, format("%s without barrier.cluster.arrive before it", name));
    }
    ++w.cluster_waits;
    if (c.barrier_phase >= w.cluster_waits) {
      acquire_cluster(w);
      return true;
    }
    for (u32 i = 0; i < 32; ++i) w.lanes[i].waiting = Waiting::cluster;
    c.barrier_waiting.push_back(&w);
    return false;
  });
}

u32 Thread::mapa(u32 address, u32 rank) {
  need_sm(90, "mapa");
  if (rank >= cluster().ctas.size()) {
    fail(Code::illegal_argument, format("mapa to rank %u; the cluster has %zu CTAs", rank, cluster().ctas.size()));
  }
  return (rank << kRankShift) | (address & ((1U << kRankShift) - 1U));
}

u32 Thread::load_shared_cluster(u32 address) {
  need_sm(90, "ld.shared::cluster");
  Cta& where = cta_of(address, 4, 4, "ld.shared::cluster");
  read_shared(where, local(address), 4, access(), "ld.shared::cluster");
  u32 value;
  std::memcpy(&value, where.smem->at(local(address)), 4);
  return value;
}

void Thread::store_shared_cluster(u32 address, u32 value) {
  need_sm(90, "st.shared::cluster");
  need_defined(value, "st.shared::cluster", "value");
  Cta& where = cta_of(address, 4, 4, "st.shared::cluster");
  write_shared(where, local(address), 4, access(), "st.shared::cluster");
  std::memcpy(where.smem->at(local(address)), &value, 4);
}

void Thread::store_async(u32 address, u32 value, u32 mbar, bool add) {
  const char* name = add ? "red.async.add" : "st.async";
  need_sm(90, name);
  need_defined(value, name, "value");
  Cta& where = cta_of(address, 4, 4, name);
  cta_of(mbar, 8, 8, name);
  if (mbar >> kRankShift != where.rank) {
    fail(Code::illegal_argument, format("%s: destination and mbarrier are in different CTAs", name));
  }
  LoadTarget target = load_target(*this, where, local(mbar), name);
  if (add) target.access.writer = Writer::reduction;
  write_shared(where, local(address), 4, target.access, name);
  machine->issue([=, this] {
    u32 result = value;
    if (add) {
      std::memcpy(&result, target.cta->smem->at(local(address)), 4);
      result += value;
    }
    std::memcpy(target.cta->smem->at(local(address)), &result, 4);
    complete_load(*this, target, 4, name);
  });
}

// Registers move between warps through a pool of the CTA; .inc waits until the pool has enough.
void Thread::setmaxnreg(u32 registers, bool increase) {
  const char* name = increase ? "setmaxnreg.inc" : "setmaxnreg.dec";
  need_sm(90, name);
  collective(Collective::setmaxnreg, registers * 2 + (increase ? 1U : 0U), nullptr, [=, this](Warp& w) {
    Cta& c = *w.cta;
    if (increase ? registers < w.registers : registers > w.registers) {
      fail(Code::illegal_argument, format("%s to %u registers; the warp has %u", name, registers, w.registers));
    }
    if (!increase) {
      c.spare_registers += (w.registers - registers) * 32;
      w.registers = registers;
      c.grant_registers();
      return true;
    }
    w.wanted_registers = registers;
    for (u32 i = 0; i < 32; ++i) w.lanes[i].waiting = Waiting::registers;
    c.register_waiting.push_back(&w);
    c.grant_registers();
    return w.wanted_registers == 0;
  });
}

void Cta::grant_registers() {
  std::erase_if(register_waiting, [this](Warp* warp) {
    const u32 more = (warp->wanted_registers - warp->registers) * 32;
    if (more > spare_registers) return false;
    spare_registers -= more;
    warp->registers = warp->wanted_registers;
    warp->wanted_registers = 0;
    for (u32 i = 0; i < 32; ++i) warp->lanes[i].waiting = Waiting::nothing;
    machine->scheduler.make_runnable(*warp, ~0U);
    return true;
  });
}

// Launches here depend on nothing and are waited for: both forms have no effect.
void Thread::griddepcontrol(GridOp) { need_sm(90, "griddepcontrol"); }

}  // namespace fovea::model
