// bar.sync, bar.arrive, bar.red (PTX ISA, "bar, bar.cta") and the fences. The .aligned forms: a warp arrives as one.
#include "model/runtime/collective.h"
#include "model/runtime/join.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
constexpr const char* kNames[] = {"bar.sync", "bar.arrive", "bar.red.popc", "bar.red.or"};

struct BarOperands {
  bool predicate;
  bool any;
  u32 result;
};

void complete(Cluster& cluster, NamedBarrier& barrier) {
  Machine& machine = *cluster.machine;
  ClockBase* base = cluster.clocks->acquire();
  base->value = barrier.clock;
  for (Warp* warp : barrier.waiting) {
    acquire_lanes(*warp, ~0U, base);
    for (u32 i = 0; i < 32; ++i) {
      BarOperands& operands = operands_of<BarOperands>(*warp, i);
      operands.result = operands.any ? (barrier.popc != 0 ? 1U : 0U) : barrier.popc;
      warp->lanes[i].waiting = Waiting::nothing;
    }
    machine.scheduler.make_runnable(*warp, ~0U);
  }
  cluster.clocks->release(base);
  std::fill(barrier.clock.begin(), barrier.clock.end(), 0);
  barrier.waiting.clear();
  barrier.expected = barrier.arrived = barrier.popc = 0;
  ++machine.counters.barriers;
}
}  // namespace

u32 Thread::bar(Bar kind, u32 id, u32 threads, bool predicate) {
  const char* name = kNames[static_cast<u32>(kind)];
  if (id > 15) fail(Code::barrier_misuse, format("%s %u: barriers are 0 to 15", name, id));
  if (threads == 0 || threads % 32 != 0) {
    fail(Code::barrier_misuse, format("%s %u with %u threads: a multiple of 32 is needed", name, id, threads));
  }
  if (threads > machine->config.threads) {
    fail(Code::barrier_misuse,
         format("%s %u with %u threads; the CTA has %u", name, id, threads, machine->config.threads));
  }
  BarOperands mine{predicate, kind == Bar::red_or, 0};
  const u32 detail = static_cast<u32>(kind) | (id << 4U) | (threads << 8U);
  collective(Collective::bar, detail, &mine, [=, this](Warp& w) {
    Cta& c = *w.cta;
    NamedBarrier& barrier = c.barriers[id];
    const bool reduces = kind == Bar::red_popc || kind == Bar::red_or;
    if (barrier.expected == 0) {
      barrier.expected = threads;
      barrier.reduces = reduces;
      barrier.clock.resize(c.cluster->clocks->width());
    } else if (barrier.expected != threads) {
      fail(Code::barrier_misuse, format("%s %u with %u threads, while warps that arrived before said %u", name, id,
                                        threads, barrier.expected));
    } else if (barrier.reduces != reduces && kind != Bar::arrive) {
      fail(Code::barrier_misuse, format("%s %u meets another kind of bar at the same barrier", name, id));
    }
    release_lanes(w, ~0U, barrier.clock);
    barrier.arrived += 32;
    if (barrier.arrived > barrier.expected) {
      fail(Code::barrier_misuse, format("%s %u: %u threads arrived of %u", name, id, barrier.arrived, threads));
    }
    for (u32 i = 0; i < 32; ++i) barrier.popc += operands_of<BarOperands>(w, i).predicate ? 1U : 0U;
    if (kind != Bar::arrive) {
      barrier.waiting.push_back(&w);
      for (u32 i = 0; i < 32; ++i) {
        w.lanes[i].waiting = Waiting::barrier;
        w.lanes[i].wait_address = id;
      }
    }
    if (barrier.arrived < barrier.expected) return kind == Bar::arrive;
    complete(*c.cluster, barrier);
    return true;
  });
  return mine.result;
}

// Memory fences order one thread's accesses for others that synchronise through global flags; races in shared memory
// are judged by barriers alone. Proxy fences are recorded: see Cluster::fenced.
void Thread::fence(Fence kind) {
  if (kind == Fence::cta || kind == Fence::gl) return;
  if (kind == Fence::acq_rel_cluster) return need_sm(90, "fence.acq_rel.cluster");
  need_sm(90, kind == Fence::proxy_async ? "fence.proxy.async" : "fence.mbarrier_init");
  for (const auto& object : cta().mbarriers) {
    if (object->live && object->initialiser == this) object->fenced = true;
  }
  if (kind == Fence::mbarrier_init) return;
  fences.push_back({clock.epoch, clock.copies_waited});
  ++clock.epoch;
}

}  // namespace fovea::model
