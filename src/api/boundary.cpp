// No exception crosses the C ABI: each becomes a status here.
#include "api/boundary.h"

#include <exception>
#include <new>
#include <system_error>

namespace fovea {
namespace {

Error out_of_memory() {
  return {.status = FOVEA_OUT_OF_MEMORY,
          .asked = "memory for plans or texts",
          .allowed = "what the system has left",
          .why = "an allocation failed",
          .hint = "free memory, or use fewer threads"};
}

Error no_threads(const char* what) {
  return {.status = FOVEA_OUT_OF_MEMORY,
          .asked = "threads",
          .allowed = "what the system grants this process",
          .why = what,
          .hint = "set num_threads in fovea_context_args to fewer"};
}

Error internal_fault(const char* what) {
  return {.status = FOVEA_INTERNAL,
          .asked = "a call that no check refused",
          .allowed = "any such call",
          .why = what,
          .hint = "this is a fault of fovea: please report this message"};
}

fovea_status report_current(fovea_error* error) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(out_of_memory(), error);
  } catch (const std::system_error& fault) {
    return report(no_threads(fault.what()), error);
  } catch (const std::exception& fault) {
    return report(internal_fault(fault.what()), error);
  } catch (...) {
    return report(internal_fault("an exception of unknown type"), error);
  }
}

}  // namespace

fovea_status report_exception(fovea_error* error) noexcept {
  try {
    return report_current(error);
  } catch (...) {
    return FOVEA_OUT_OF_MEMORY;  // not even the message could be built
  }
}

}  // namespace fovea
