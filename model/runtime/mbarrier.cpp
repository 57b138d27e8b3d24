// mbarrier objects (PTX ISA, "mbarrier"): counts, phases, and what observing a phase makes visible.
#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
constexpr i64 kMaxCount = (1 << 20) - 1;
constexpr const char* kNames[] = {"mbarrier.init",
                                  "mbarrier.inval",
                                  "mbarrier.arrive",
                                  "mbarrier.arrive.expect_tx",
                                  "mbarrier.expect_tx",
                                  "mbarrier.complete_tx",
                                  "mbarrier.arrive.release.cluster",
                                  "mbarrier.arrive_drop"};

// A thread's base joined with what the last phase published; threads with the same base share the result.
void acquire(Thread& self, MbarrierObject& object) {
  if (object.complete == nullptr) return;
  ClockPool& pool = *self.cluster().clocks;
  if (object.memo_from != self.clock.base) {
    if (object.memo_from != nullptr) {
      pool.release(object.memo_from);
      pool.release(object.memo_to);
    }
    object.memo_from = self.clock.base;
    ++object.memo_from->references;
    object.memo_to = pool.acquire();
    object.memo_to->value = object.complete->value;
    join(object.memo_to->value, self.clock.base->value);
  }
  ++object.memo_to->references;
  self.set_base(object.memo_to);
}

void advance(Cta& cta, MbarrierObject& object) {
  ClockPool& pool = *cta.cluster->clocks;
  ++object.phase;
  object.pending = object.expected;
  object.arriving[object.agent] = object.phase;
  if (object.complete != nullptr) pool.release(object.complete);
  if (object.memo_from != nullptr) {
    pool.release(object.memo_from);
    pool.release(object.memo_to);
    object.memo_from = object.memo_to = nullptr;
  }
  object.complete = pool.acquire();
  object.complete->value = object.arriving;
  if (object.last_published != nullptr) pool.release(object.last_published);
  object.last_published = nullptr;
  std::vector<MbarrierWaiter> waiters;
  waiters.swap(object.waiters);
  for (const MbarrierWaiter& waiter : waiters) {
    if ((object.phase & 1U) == waiter.parity) {
      object.waiters.push_back(waiter);
      continue;
    }
    acquire(*waiter.thread, object);
    waiter.thread->waiting = Waiting::nothing;
    cta.machine->scheduler.make_runnable(*waiter.thread->warp, 1U << waiter.thread->lane);
  }
}

// An arrival's release: everything the thread has done, published to whoever observes the phase.
void publish(Thread& self, MbarrierObject& object) {
  const bool with_base = object.last_published != self.clock.base;
  self.clock.publish(object.arriving, with_base);
  ++self.clock.epoch;
  if (!with_base) return;
  if (object.last_published != nullptr) self.cluster().clocks->release(object.last_published);
  object.last_published = self.clock.base;
  ++object.last_published->references;
}

void init(Thread& self, u32 offset, u32 count) {
  Cta& cta = self.cta();
  if (count == 0 || count > kMaxCount) {
    self.fail(Code::mbarrier_misuse, format("mbarrier.init with count %u: 1 to 2^20 - 1", count));
  }
  u32& index = cta.mbarrier_at[offset / 8];
  if (index != 0 && cta.mbarriers[index - 1]->live) {
    self.fail(Code::mbarrier_misuse,
              format("mbarrier.init of 0x%x, which holds a live mbarrier: mbarrier.inval first", offset + kSmemBase));
  }
  if (index == 0) {
    cta.mbarriers.push_back(std::make_unique<MbarrierObject>());
    index = static_cast<u32>(cta.mbarriers.size());
    cta.mbarriers.back()->agent = cta.cluster->new_agent(self);
    cta.mbarriers.back()->arriving.resize(cta.cluster->clocks->width());
  }
  self.write_shared(cta, offset, 8, self.access(Writer::barrier), "mbarrier.init");
  MbarrierObject& object = *cta.mbarriers[index - 1];
  object.live = true;
  object.fenced = false;
  object.initialiser = &self;
  object.expected = object.pending = count;
  object.tx = 0;
  object.phase += object.phase & 1U;  // a new life starts with an even phase
}
}  // namespace

MbarrierObject& Thread::mbarrier_object(Cta& where, u32 offset, const char* instruction) const {
  const u32 index = where.mbarrier_at[offset / 8];
  if (index == 0 || !where.mbarriers[index - 1]->live) {
    fail(Code::mbarrier_misuse,
         format("%s at 0x%x, where no mbarrier is initialised", instruction, offset + kSmemBase));
  }
  const Access as = access(Writer::barrier);
  Conflict conflict;
  if (where.smem->unordered(offset, as, &conflict)) {
    fail(Code::race, format("%s of the mbarrier at 0x%x, which %s initialised; no barrier orders the two", instruction,
                            offset + kSmemBase, cluster().component_name(conflict.component).c_str()));
  }
  return *where.mbarriers[index - 1];
}

void Thread::mbarrier_count(Cta& where, u32 offset, u32 arrivals, i64 tx, const char* instruction) const {
  MbarrierObject& object = *where.mbarriers[where.mbarrier_at[offset / 8] - 1];
  if (arrivals > object.pending) {
    fail(Code::mbarrier_misuse, format("%s at 0x%x: %u arrivals with %u pending of %u in phase %u", instruction,
                                       offset + kSmemBase, arrivals, object.pending, object.expected, object.phase));
  }
  object.pending -= arrivals;
  object.tx += tx;
  if (object.tx > kMaxCount || object.tx < -kMaxCount) {
    fail(Code::mbarrier_misuse,
         format("%s at 0x%x: tx-count %lld is beyond 2^20 - 1", instruction, offset + kSmemBase, object.tx));
  }
  if (object.pending == 0 && object.tx == 0) advance(where, object);
}

u64 Thread::mbarrier(Mbarrier op, u32 address, u32 operand) {
  const char* name = kNames[static_cast<u32>(op)];
  const bool remote = op == Mbarrier::arrive_cluster || op == Mbarrier::complete_tx;
  if (op >= Mbarrier::arrive_expect_tx && op != Mbarrier::arrive_drop) need_sm(90, name);
  if (op == Mbarrier::arrive && operand > 1) need_sm(90, "mbarrier.arrive with a count");
  Cta& where = remote ? cta_of(address, 8, 8, name) : cta();
  const u32 offset = remote ? (address & ((1U << kRankShift) - 1U)) - kSmemBase : own_offset(address, 8, 8, name);
  if (op == Mbarrier::init) {
    init(*this, offset, operand);
    return 0;
  }
  MbarrierObject& object = mbarrier_object(where, offset, name);
  const u64 state = (static_cast<u64>(object.phase) << 32U) | object.pending;
  switch (op) {
    case Mbarrier::inval:
      if (!object.waiters.empty()) {
        fail(Code::mbarrier_misuse, format("mbarrier.inval of 0x%x, on which threads wait", offset + kSmemBase));
      }
      object.live = false;
      where.smem->clear_barrier(offset);
      break;
    case Mbarrier::arrive_drop:
      if (object.expected == 0) fail(Code::mbarrier_misuse, format("%s: the expected count is zero", name));
      --object.expected;
      [[fallthrough]];
    case Mbarrier::arrive:
    case Mbarrier::arrive_cluster:
      publish(*this, object);
      mbarrier_count(where, offset, operand, 0, name);
      break;
    case Mbarrier::arrive_expect_tx:
      publish(*this, object);
      object.tx += operand;
      mbarrier_count(where, offset, 1, 0, name);
      break;
    case Mbarrier::expect_tx:
      mbarrier_count(where, offset, 0, operand, name);
      break;
    case Mbarrier::complete_tx:
      mbarrier_count(where, offset, 0, -static_cast<i64>(operand), name);
      break;
    case Mbarrier::init:
      break;
  }
  return state;
}

bool Thread::mbarrier_test(MbarrierTest kind, u32 address, u64 operand) {
  const char* name = kind == MbarrierTest::try_parity ? "mbarrier.try_wait.parity" : "mbarrier.test_wait";
  if (kind == MbarrierTest::try_parity) need_sm(90, name);
  const u32 offset = own_offset(address, 8, 8, name);
  machine->scheduler.yield(*this);
  MbarrierObject& object = mbarrier_object(cta(), offset, name);
  ++machine->counters.mbarrier_waits;
  bool done = false;
  if (kind == MbarrierTest::state) {
    const u32 phase = static_cast<u32>(operand >> 32U);
    if (object.phase != phase && object.phase != phase + 1) {
      fail(Code::mbarrier_misuse, format("%s at 0x%x with the state of phase %u; the barrier is in phase %u", name,
                                         offset + kSmemBase, phase, object.phase));
    }
    done = object.phase != phase;
  } else {
    if (operand > 1) fail(Code::illegal_argument, format("%s with parity %llu", name, operand));
    done = (object.phase & 1U) != operand;
  }
  if (done) acquire(*this, object);
  return done;
}

void Thread::mbarrier_wait_parity(u32 address, u32 parity) {
  need_sm(90, "mbarrier.try_wait.parity");
  const u32 offset = own_offset(address, 8, 8, "mbarrier.try_wait.parity");
  MbarrierObject& object = mbarrier_object(cta(), offset, "mbarrier.try_wait.parity");
  if (parity > 1) fail(Code::illegal_argument, format("mbarrier.try_wait.parity with parity %u", parity));
  ++machine->counters.mbarrier_waits;
  if ((object.phase & 1U) != parity) {
    acquire(*this, object);
    return;
  }
  object.waiters.push_back({this, parity});
  waiting = Waiting::mbarrier;
  wait_address = address;
  wait_detail = parity;
  machine->scheduler.block(*this);
}

u32 Thread::mbarrier_pending_count(u64 state) { return static_cast<u32>(state & 0xffffffffU); }

}  // namespace fovea::model
