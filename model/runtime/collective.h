// Warp-wide instructions: the lane that arrives last does the work for all 32, on operands that stand on the lanes' own
// stacks, while the others are blocked.
#pragma once

#include "model/runtime/machine.h"

namespace fovea::model {

// `run(warp)` executes the instruction; it returns true when the warp goes on, false when all its lanes stay blocked
// (a CTA barrier) until someone makes them runnable.
template <class Run>
void Thread::collective(Collective op, u32 detail, void* operands, Run run) {
  if (!gather(op, detail, operands)) {
    machine->scheduler.block(*this);
    return;
  }
  if (run(*warp)) {
    for (u32 i = 0; i < 32; ++i) warp->lanes[i].waiting = Waiting::nothing;
    machine->scheduler.make_runnable(*warp, ~(1U << lane));
  } else {
    machine->scheduler.block(*this);
  }
}

template <class Operands>
Operands& operands_of(const Warp& warp, u32 lane) {
  return *static_cast<Operands*>(warp.operands[lane]);
}

}  // namespace fovea::model
