// An mbarrier object: its counts (PTX ISA, "mbarrier: Phase of the mbarrier object"), the clock that its arrivals
// publish, and who waits. It lives beside shared memory; the 8 bytes themselves are opaque to plain accesses.
#pragma once

#include <vector>

#include "model/runtime/clock.h"

namespace fovea::model {

struct Thread;

struct MbarrierWaiter {
  Thread* thread;
  u32 parity;
};

struct MbarrierObject {
  bool live = false;
  bool fenced = false;  // made visible to the async proxy and to the cluster after init
  Thread* initialiser = nullptr;
  u32 expected = 0, pending = 0;
  i64 tx = 0;
  u32 phase = 0;  // of the phase in progress; complete phases: phase - 1 and before
  u32 agent = 0;  // clock component; its epoch p + 1 means: phase p is complete
  std::vector<Epoch> arriving;
  ClockBase* complete = nullptr;   // what observing the last complete phase gives
  ClockBase* memo_from = nullptr;  // the last join of a waiter's base with `complete`, to be shared
  ClockBase* memo_to = nullptr;
  ClockBase* last_published = nullptr;  // held, so that no other base takes its address
  std::vector<MbarrierWaiter> waiters;
};

}  // namespace fovea::model
