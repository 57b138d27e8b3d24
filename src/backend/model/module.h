// Modules: kernels compiled for the functional GPU model, loaded into this process. Compiling is the Jit's business,
// running them model::launch's.
#pragma once

#include <memory>

#include "driver/shared_library.h"
#include "jit/jit.h"
#include "jit/once_map.h"

namespace fovea::model {

struct Module {
  SharedLibrary library;  // keeps the code in memory
  void (*entry)(const void* params) = nullptr;
};

class Modules {
 public:
  explicit Modules(Jit& jit) : jit_(jit) {}

  // Compiles and loads at the first call for a kernel and spec; later calls find it.
  Result<Module> get(const KernelSource& source);

 private:
  Result<Module> load(const KernelSource& source);

  Jit& jit_;
  OnceMap<Module> loaded_;
};

}  // namespace fovea::model
