// Where the calls of bug report and property tests run: FOVEA_TEST_BACKEND is cpu (the default), model or cuda. A call
// that no GPU kernel serves (fp32 tensors, a head dim above 256), or that is too large for the model or for copies,
// runs on the cpu backend instead; how many did, and why, is printed at the end. FOVEA_TEST_MODEL_SM is the
// architecture of the model (80).
#pragma once

#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::test_backend {

// fovea_forward on that backend, with tensors in host memory before and after. `cpu_took_it`, where given, becomes
// whether the cpu backend took the call.
fovea_status forward(fovea_context* context, const fovea_forward_args& args, fovea_error* error,
                     bool* cpu_took_it = nullptr);

// For fovea_context_args::model_sm; 0 where the environment has none.
std::int32_t model_sm();

}  // namespace fovea::test_backend
