// Gathering the lanes of a warp for a warp-wide instruction, and bar.warp.sync. A lane that has exited, or waits at
// another instruction that needs this lane, can never come: that is reported at once, with both sides.
#include "model/runtime/collective.h"
#include "model/runtime/join.h"
#include "model/runtime/text.h"
#include "model/runtime/warpgroup.h"

namespace fovea::model {

namespace {
[[noreturn]] void never_meets(const Thread& self, const char* instruction, u32 other) {
  const Warp& warp = *self.warp;
  const Thread& lane = warp.lanes[other];
  std::string what = "has exited";
  if ((warp.exited >> other & 1U) == 0) {
    what = warp.partial[other] != 0 ? format("waits at bar.warp.sync of lanes 0x%08x", warp.partial[other])
                                    : format("waits at %s (variant %u)", to_string(warp.op), warp.detail);
  }
  self.fail(Code::divergent_collective,
            format("%s needs lane %u of the warp, but %s ", instruction, other, lane.name().c_str()) + what);
}
}  // namespace

bool Thread::gather(Collective op, u32 detail, void* operands) {
  Warp& w = *warp;
  const u32 bit = 1U << lane;
  if (w.exited != 0) never_meets(*this, to_string(op), static_cast<u32>(__builtin_ctz(w.exited)));
  if (w.arrived == 0) {
    w.op = op;
    w.detail = detail;
  } else if (w.op != op || w.detail != detail) {
    never_meets(*this, format("%s (variant %u)", to_string(op), detail).c_str(),
                static_cast<u32>(__builtin_ctz(w.arrived)));
  }
  if (w.partial_lanes != 0) {
    for (u32 i = 0; i < 32; ++i) {
      if ((w.partial[i] & bit) != 0) never_meets(*this, to_string(op), i);
    }
  }
  w.operands[lane] = operands;
  w.arrived |= bit;
  if (w.arrived != ~0U) {
    waiting = Waiting::collective;
    return false;
  }
  w.arrived = 0;
  cta().banks[w.index].flush(machine->counters);
  for (u32 i = 0; i < 32; ++i) w.lanes[i].smem_accesses = 0;
  return true;
}

void Thread::finish() {
  Warp& w = *warp;
  const u32 bit = 1U << lane;
  for (u32 i = 0; i < 32; ++i) {
    const bool needed = (w.arrived >> i & 1U) != 0 || (w.partial[i] & bit) != 0;
    if (needed) never_meets(*this, "exit", i);
  }
  for (const BulkStore& store : bulk_stores) {
    if (store.group > clock.bulk_waited) {
      fail(Code::exit_with_pending,
           "exit while a bulk store may still read shared memory: cp.async.bulk.wait_group.read "
           "comes first");
    }
  }
  w.exited |= bit;
  waiting = Waiting::exited;
  ++cta().exited;
  machine->thread_exited();
  if (w.exited != ~0U) return;
  cta().banks[w.index].flush(machine->counters);
  cluster().try_complete_barrier();
  cta().warpgroups[w.index / 4]->check_exit(*this);
}

// PTX ISA, "bar.warp.sync": waits for the lanes of the mask and orders memory among them.
void Thread::bar_warp_sync(u32 mask) {
  Warp& w = *warp;
  const u32 bit = 1U << lane;
  if ((mask & bit) == 0) {
    fail(Code::illegal_argument, format("bar.warp.sync with mask 0x%08x, which lacks the executing lane", mask));
  }
  if (mask == ~0U) {
    collective(Collective::warp_sync, 0, nullptr, [](Warp& all) {
      join_lanes(all, ~0U);
      return true;
    });
    return;
  }
  bool complete = true;
  for (u32 i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) == 0 || i == lane) continue;
    const bool elsewhere = (w.arrived >> i & 1U) != 0 || (w.partial[i] != mask && (w.partial[i] & bit) != 0);
    if ((w.exited >> i & 1U) != 0 || elsewhere) never_meets(*this, "bar.warp.sync", i);
    complete = complete && w.partial[i] == mask;
  }
  if (!complete) {
    w.partial[lane] = mask;
    w.partial_lanes |= bit;
    waiting = Waiting::collective;
    machine->scheduler.block(*this);
    return;
  }
  join_lanes(w, mask);
  for (u32 i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    w.partial[i] = 0;
    w.lanes[i].waiting = Waiting::nothing;
  }
  w.partial_lanes &= ~mask;
  machine->scheduler.make_runnable(w, mask & ~bit);
}

}  // namespace fovea::model
