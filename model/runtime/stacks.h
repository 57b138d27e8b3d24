// Stacks for fibres: aligned blocks of kStackBytes, each with a page for the pointer to its thread, a guard page that
// turns an overflow into a fault of the host, and the stack proper.
#pragma once

#include "model/machine.h"

namespace fovea::model {

class Stacks {
 public:
  explicit Stacks(u32 count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  bool ok() const { return first_ != nullptr; }
  // Where stack `index` grows down from; it belongs to `owner` from now on.
  void* top(u32 index, ThreadPort* owner) const;
  static u64 usable_bytes();

 private:
  void* mapping_ = nullptr;
  u64 mapped_ = 0;
  u8* first_ = nullptr;
};

}  // namespace fovea::model
