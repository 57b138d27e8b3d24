// Fibres and who runs next. A thread that cannot go on blocks and control passes straight to another one; when no
// thread can run, asynchronous operations land; when none is left, that is a deadlock. All choices come from one seed.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "model/launch.h"

namespace fovea::model {

class Machine;
struct Thread;
struct Warp;

// Suspended execution: a fibre's, or the launching thread's own. Fibres are switched directly and are never unwound:
// kernel frames own nothing, and after a fault they are abandoned with their stacks.
struct Continuation {
  boost::context::detail::fcontext_t context = nullptr;
};

class Random {
 public:
  explicit Random(u64 seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL) {}
  u64 next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  u32 below(u32 n) { return static_cast<u32>((next() >> 32U) * n >> 32U); }

 private:
  u64 state_;
};

class Scheduler {
 public:
  Scheduler(Machine& machine, const LaunchConfig& config);

  // Runs all threads of these warps until they have exited; returns early after leave().
  void run(const std::vector<Warp*>& warps);
  // The running thread waits until make_runnable.
  void block(Thread& self);
  // The running thread may go on later, others first: for loops that poll.
  void yield(Thread& self);
  void make_runnable(Warp& warp, u32 lanes);
  [[noreturn]] void exit(Thread& self);
  // Back to run()'s caller, from any fibre, for good.
  [[noreturn]] void leave();

  Random& random() { return random_; }
  u64 switches() const { return switches_; }

 private:
  static void fibre_main(boost::context::detail::transfer_t from);
  static void switch_to(Continuation& from, Continuation& to);
  Thread& pick(Thread& from);
  Warp& choose();
  void remove_if_idle(Warp& warp);

  Machine& machine_;
  Random random_;
  Schedule schedule_;
  AsyncLanding landing_;
  u64 max_switches_;
  u64 switches_ = 0;
  Continuation main_;
  std::vector<Warp*> ready_;  // warps with runnable lanes
};

}  // namespace fovea::model
