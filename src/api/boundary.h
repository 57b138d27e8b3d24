// boundary: the last step of every entry point. Turns refusals and stray exceptions into a status and an error struct.
#pragma once

#include <utility>

#include "api/versioned.h"
#include "core/error.h"

namespace fovea {

// Reports the exception in flight; call it in a catch block only. Itself never throws.
fovea_status report_exception(fovea_error* error) noexcept;

// Runs body() -> Check and reports what it returns or throws.
template <class Body>
fovea_status guarded(fovea_error* error, Body&& body) noexcept {
  if (const fovea_status status = check_error_struct(error); status != FOVEA_OK) return status;
  try {
    const Check failure = std::forward<Body>(body)();
    return failure ? report(*failure, error) : FOVEA_OK;
  } catch (...) {
    return report_exception(error);
  }
}

}  // namespace fovea
