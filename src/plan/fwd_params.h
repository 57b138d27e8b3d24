// The parameters of a GPU forward kernel, from a plan and the operands of one call.
#pragma once

#include "device/spec/fwd_params.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea {

FwdParams make_fwd_params(const Plan& plan, const ForwardOperands& operands);

}  // namespace fovea
