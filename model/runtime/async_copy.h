// What bulk and tensor copies share: the mbarrier that a load signals, the agent of a thread's stores, reductions.
#pragma once

#include "model/runtime/machine.h"
#include "model/tensor_map.h"

namespace fovea::model {

// A load's destination side: bytes count as written by the mbarrier's agent in the phase that is in progress.
struct LoadTarget {
  Cta* cta = nullptr;
  u32 mbar = 0;  // offset
  Access access;
};
LoadTarget load_target(const Thread& self, Cta& cta, u32 mbar_offset, const char* instruction);
// The copy has landed: complete_tx, in the phase that it was issued for.
void complete_load(const Thread& self, const LoadTarget& target, u32 bytes, const char* instruction);

// A store's source side: bytes count as read by the thread's bulk agent until its wait.
Access store_access(Thread& self);
// `read` takes the source, `write` changes global memory; wait_group.read is for the first, wait_group for both.
void issue_store(Thread& self, std::function<void()> read, std::function<void()> write);

// One element of a reduction, added with the type's rounding.
void add_element(MapType type, u8* into, const u8* value);

}  // namespace fovea::model
