// Choice of the next thread and the switch to it: see scheduler.h.
#include "model/runtime/scheduler.h"

#include <bit>
#include <utility>

#include "model/runtime/machine.h"

namespace fovea::model {

using boost::context::detail::jump_fcontext;
using boost::context::detail::transfer_t;

namespace {
constexpr u32 kPreemptOneIn = 24;  // random schedule: how often a warp that could go on does not
}

Scheduler::Scheduler(Machine& machine, const LaunchConfig& config)
    : machine_(machine),
      random_(config.seed),
      schedule_(config.schedule),
      landing_(config.landing),
      max_switches_(config.max_switches) {}

void Scheduler::switch_to(Continuation& from, Continuation& to) {
  const transfer_t back = jump_fcontext(to.context, &from);
  static_cast<Continuation*>(back.data)->context = back.fctx;
}

void Scheduler::fibre_main(transfer_t from) {
  static_cast<Continuation*>(from.data)->context = from.fctx;
  auto& self = static_cast<Thread&>(this_thread());
  self.machine->entry(self.machine->params);
  self.finish();
  self.machine->scheduler.exit(self);
}

void Scheduler::run(const std::vector<Warp*>& warps) {
  ready_.clear();
  for (Warp* warp : warps) {
    warp->ready_position = ~0U;
    for (u32 lane = 0; lane < 32; ++lane) {
      Thread& thread = warp->lanes[lane];
      thread.fibre.context = boost::context::detail::make_fcontext(
          thread.fibre.context, static_cast<std::size_t>(Stacks::usable_bytes()), &Scheduler::fibre_main);
    }
    make_runnable(*warp, ~0U);
  }
  if (ready_.empty()) return;
  if (schedule_ == Schedule::run_ahead) {
    for (u32 i = static_cast<u32>(ready_.size()) - 1; i > 0; --i) std::swap(ready_[i], ready_[random_.below(i + 1)]);
    for (u32 i = 0; i < ready_.size(); ++i) ready_[i]->ready_position = ready_[i]->priority = i;
  }
  Warp& first = choose();
  switch_to(main_, first.lanes[std::countr_zero(first.runnable)].fibre);
}

void Scheduler::make_runnable(Warp& warp, u32 lanes) {
  if (warp.runnable == 0 && lanes != 0) {
    warp.ready_position = static_cast<u32>(ready_.size());
    ready_.push_back(&warp);
  }
  warp.runnable |= lanes;
}

void Scheduler::remove_if_idle(Warp& warp) {
  if (warp.runnable != 0 || warp.ready_position == ~0U) return;
  ready_[warp.ready_position] = ready_.back();
  ready_[warp.ready_position]->ready_position = warp.ready_position;
  ready_.pop_back();
  warp.ready_position = ~0U;
}

Warp& Scheduler::choose() {
  if (schedule_ == Schedule::random) return *ready_[random_.below(static_cast<u32>(ready_.size()))];
  Warp* best = ready_.front();
  for (Warp* warp : ready_) {
    if (warp->priority < best->priority) best = warp;
  }
  return *best;
}

Thread& Scheduler::pick(Thread& from) {
  if (++switches_ > max_switches_) {
    machine_.fail(from, Code::runaway,
                  "the launch has switched threads " + std::to_string(max_switches_) +
                      " times without ending: a loop that polls, or max_switches is too small");
  }
  machine_.maybe_land();
  while (ready_.empty()) {
    if (!machine_.land_any()) machine_.fail_everywhere(Code::deadlock, "no thread can go on: " + machine_.who_waits());
  }
  Warp* warp = from.warp;
  const bool stay = warp->runnable != 0 && (schedule_ == Schedule::run_ahead || random_.below(kPreemptOneIn) != 0);
  if (!stay) warp = &choose();
  // The next lane after this one, in turn, so that no lane is always first.
  const u32 turn = (from.lane + 1U) & 31U;
  const u32 lane = (static_cast<u32>(std::countr_zero(std::rotr(warp->runnable, static_cast<int>(turn)))) + turn) & 31U;
  return warp->lanes[lane];
}

void Scheduler::block(Thread& self) {
  self.warp->runnable &= ~(1U << self.lane);
  remove_if_idle(*self.warp);
  Thread& next = pick(self);
  if (&next != &self) switch_to(self.fibre, next.fibre);
}

void Scheduler::yield(Thread& self) {
  if (++switches_ > max_switches_) {
    machine_.fail(self, Code::runaway,
                  "a loop that polls did not end in " + std::to_string(max_switches_) + " thread switches");
  }
  // Lazy operations land too, sooner or later: what a loop polls for may depend on them alone.
  if (landing_ != AsyncLanding::eager && random_.below(8) == 0) machine_.land_any();
  Warp& warp = *ready_[random_.below(static_cast<u32>(ready_.size()))];
  const u32 turn = random_.below(32);
  const u32 lane = (static_cast<u32>(std::countr_zero(std::rotr(warp.runnable, static_cast<int>(turn)))) + turn) & 31U;
  if (&warp.lanes[lane] != &self) switch_to(self.fibre, warp.lanes[lane].fibre);
}

void Scheduler::exit(Thread& self) {
  self.warp->runnable &= ~(1U << self.lane);
  remove_if_idle(*self.warp);
  if (machine_.all_exited()) leave();
  switch_to(self.fibre, pick(self).fibre);
  __builtin_unreachable();
}

void Scheduler::leave() {
  Continuation abandoned;
  switch_to(abandoned, main_);
  __builtin_unreachable();
}

}  // namespace fovea::model
