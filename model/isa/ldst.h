// Loads, stores and atomics (PTX ISA, "ld", "ld.global.nc", "st", "atom", "red"; SM80, vector red SM90). T is one of
// the types that one instruction moves.
#pragma once

#include "config.h"

namespace fovea::isa {

template <class T>
concept MemoryWord = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;

template <MemoryWord T>
FOVEA_INLINE T ld_global(const void* address) {
  T value;
  model::this_thread().load_global(&value, address, sizeof(T), model::GlobalLoad::weak);
  return value;
}
template <MemoryWord T>
FOVEA_INLINE T ld_global_nc(const void* address) {
  T value;
  model::this_thread().load_global(&value, address, sizeof(T), model::GlobalLoad::nc);
  return value;
}
template <MemoryWord T>
FOVEA_INLINE void st_global(void* address, T value) {
  model::this_thread().store_global(address, &value, sizeof(T), model::GlobalStore::weak);
}
template <MemoryWord T>
FOVEA_INLINE T ld_shared(SmemPtr p) {
  T value;
  model::this_thread().load_shared(&value, p.address, sizeof(T));
  return value;
}
template <MemoryWord T>
FOVEA_INLINE void st_shared(SmemPtr p, T value) {
  model::this_thread().store_shared(p.address, &value, sizeof(T));
}

// atom.global.add.u32 and atom.global.inc.u32, .relaxed.gpu: the value before.
FOVEA_INLINE u32 atom_add_global(u32* address, u32 value) {
  return model::this_thread().atomic_global(model::Atomic::add, address, value);
}
FOVEA_INLINE u32 atom_inc_global(u32* address, u32 limit) {
  return model::this_thread().atomic_global(model::Atomic::inc, address, limit);
}

// red.global.add.f32, .v2.f32 and .v4.f32 (SM90): element-wise atomics.
FOVEA_INLINE void red_add_global(f32* address, f32 x) { model::this_thread().red_add_global(address, &x, 1); }
FOVEA_INLINE void red_add_global_v2(f32* address, f32 x, f32 y) {
  const f32 values[2] = {x, y};
  model::this_thread().red_add_global(address, values, 2);
}
FOVEA_INLINE void red_add_global_v4(f32* address, f32 x, f32 y, f32 z, f32 w) {
  const f32 values[4] = {x, y, z, w};
  model::this_thread().red_add_global(address, values, 4);
}

FOVEA_INLINE u32 ld_acquire_gpu(const u32* address) {
  u32 value;
  model::this_thread().load_global(&value, address, 4, model::GlobalLoad::acquire_gpu);
  return value;
}
FOVEA_INLINE void st_release_gpu(u32* address, u32 value) {
  model::this_thread().store_global(address, &value, 4, model::GlobalStore::release_gpu);
}

}  // namespace fovea::isa
