// Driver: libcuda, opened at run time. A table of function pointers; copying it copies the table, not the library.
// Contexts, modules and launches are the business of src/backend/cuda.
#pragma once

#include <string>
#include <type_traits>

#include "core/error.h"
#include "driver/driver_functions.h"
#include "driver/shared_library.h"

namespace fovea::cuda {

struct Driver {
#define FOVEA_DECLARE(name, symbol, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  FOVEA_DRIVER_FUNCTIONS(FOVEA_DECLARE)
#undef FOVEA_DECLARE
  SharedLibrary library;
  int version = 0;  // what cuDriverGetVersion says: 12080 is CUDA 12.8

  int major() const { return version / 1000; }
};

// Opens `name` and calls cuInit. An Error says whether the library, a function, the version or a device is missing.
Result<Driver> load_driver(const std::string& name = "libcuda.so.1");

// "CUDA_ERROR_INVALID_VALUE (1): invalid argument"
std::string describe(const Driver& driver, CUresult result);

// The Error for a driver call that failed: `what` says what was being done.
Error driver_error(const Driver& driver, CUresult result, const std::string& what);

}  // namespace fovea::cuda
