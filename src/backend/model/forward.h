// Runs a forward plan on the functional GPU model: the kernel's own source, compiled by the host compiler, executed
// instruction by instruction on the caller's thread.
#pragma once

#include "backend/model/module.h"
#include "model/launch.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::model {

struct Settings {
  int sm = 80;  // architecture: what instructions exist and how much shared memory there is
  u64 seed = 0;
  AsyncLanding landing = AsyncLanding::random;
  Schedule schedule = Schedule::random;
};

// What the model saw, a fault included; counters are those of the attention kernel, not of the merging of splits. An
// Error: the kernel could not be compiled or loaded.
Result<Report> run_forward(const Plan& plan, const ForwardOperands& operands, Modules& modules,
                           const Settings& settings);

// A fault as the Error of a call.
Error fault_error(const Plan& plan, const Settings& settings, const Fault& fault);

}  // namespace fovea::model
