// validate: the caller's arguments -> a ForwardCall, or the refusal that names what is wrong (contract section 6).
// After it no kernel needs to distrust a shape, a stride, an offset or a page index.
#pragma once

#include "core/error.h"
#include "plan/operands.h"
#include "select/problem.h"

namespace fovea {

struct ForwardCall {
  Problem problem;
  ForwardOperands operands;
  fovea_backend backend = FOVEA_BACKEND_AUTO;
  std::int64_t longest_used_q = 0;  // longest used query length of the batch
  std::int32_t device_id = 0;       // of CUDA tensors
  void* stream = nullptr;           // of CUDA tensors
};

// Fills `call`, which comes as made by its default constructor, in place: it is too large to be copied on the way to a
// launch. Reads of the operands only the int32 ones. `args` may be null, which is refused.
Check validate_forward(const fovea_forward_args* args, ForwardCall& call);

}  // namespace fovea
