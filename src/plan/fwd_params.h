// The parameters of GPU forward kernels, from a plan and the operands of one call.
#pragma once

#include <cstdint>

#include "device/spec/combine_spec.h"
#include "device/spec/fwd_params.h"
#include "plan/operands.h"
#include "plan/plan.h"

namespace fovea {

// Memory for the parts of split keys: fp32 out [num_splits, rows, Hq, Dv], then fp32 maxima and sums [num_splits, rows,
// Hq, 2].
struct SplitParts {
  std::int64_t rows = 0;  // of storage, over all batch entries
  std::int64_t lse = 0;   // where maxima and sums begin, in elements
  std::uint64_t bytes = 0;
  std::int64_t combine_grid = 0;  // CTAs of the kernel that merges them
};
// Zeros where there is one split.
SplitParts split_parts(const Plan& plan, const ForwardOperands& operands);

// `parts`: memory of split_parts().bytes on the device; not used where there is one split.
FwdParams make_fwd_params(const Plan& plan, const ForwardOperands& operands, float* parts);
CombineParams make_combine_params(const Plan& plan, const ForwardOperands& operands, const float* parts);

}  // namespace fovea
