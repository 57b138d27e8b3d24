// How kernel sources spell what C++ has no word for (inlining, kernel entries, unrolling), and registers without a
// value. Convention of all families: `asm volatile` where order or convergence matters, plus "memory" where other
// threads or proxies can see the effect; plain `asm` for pure arithmetic, which the compiler may move, merge or drop.
// A comment of the form `// Section of the PTX manual: instruction, sm_NN.` holds for all functions up to the next one.
#pragma once

#include "base/types.h"

#define FOVEA_INLINE __attribute__((always_inline)) inline
#define FOVEA_ENTRY(threads, min_ctas) extern "C" __global__ void __launch_bounds__(threads, min_ctas)
#define FOVEA_GRID_CONSTANT const __grid_constant__
#define FOVEA_UNROLL _Pragma("unroll")
#define FOVEA_ROLLED _Pragma("unroll 1")
#define FOVEA_MODEL_MODULE(entry, params)  // the model exports the entry here

namespace fovea::isa {

// Holds a T whose registers were never written.
template <class T>
struct Unwritten {
  T value;
  constexpr Unwritten() {}
};

// No instruction: -, sm_80. The value of a register that nobody wrote: whatever the allocator left there.
template <class T>
FOVEA_INLINE T undefined() {
  return Unwritten<T>{}.value;
}

}  // namespace fovea::isa
