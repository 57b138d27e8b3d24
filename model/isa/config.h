// How a kernel is declared, and the value of a register that nobody wrote. FOVEA_MODEL_MODULE is the last line of a
// stub that becomes a shared object: it exports fovea_model_main(const void* params), which is what model::launch takes
// as an entry. The PTX side defines it as nothing.
#pragma once

#include "../machine.h"

#define FOVEA_INLINE inline
#define FOVEA_ENTRY(threads, min_ctas) extern "C" void
#define FOVEA_GRID_CONSTANT const
#define FOVEA_UNROLL
#define FOVEA_ROLLED
#define FOVEA_MODEL_MODULE(entry, Params)                                                              \
  extern "C" void fovea_model_main(const void* params) { entry(*static_cast<const Params*>(params)); } \
  static_assert(true, "a semicolon follows FOVEA_MODEL_MODULE")

namespace fovea::isa {

// A register that nobody wrote: instructions that read it report a fault.
template <class T>
FOVEA_INLINE T undefined() {
  static_assert(sizeof(T) == 2 || sizeof(T) % 4 == 0);
  if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, static_cast<u16>(model::kUndefinedBits & 0xffffU));
  } else {
    Array<u32, static_cast<int>(sizeof(T) / 4)> words{};
    for (u32& word : words.v) word = model::kUndefinedBits;
    return __builtin_bit_cast(T, words);
  }
}

}  // namespace fovea::isa
