// Runs a forward plan on the functional GPU model: the kernel's own source, compiled by the host compiler, executed
// instruction by instruction on the caller's thread.
#pragma once

#include "backend/model/module.h"
#include "backend/model/settings.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea::model {

// What the model saw, a fault included; counters are those of the attention kernel, not of the merging of splits. An
// Error: the kernel could not be compiled or loaded.
Result<Report> run_forward(const Plan& plan, const ForwardOperands& operands, Modules& modules,
                           const Settings& settings);

}  // namespace fovea::model
