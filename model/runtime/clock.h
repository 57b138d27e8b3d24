// Vector clocks: which events of other threads and asynchronous agents a thread has observed. After a barrier all its
// threads share one immutable base, so that joining costs one pass however many threads take part; what a thread
// advances alone (its own epoch, copies and groups that it waited for) stays beside the base.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/types.h"

namespace fovea::model {

using Epoch = u32;

// An immutable clock, shared by reference count. Component i: the last epoch of agent i that is observed.
struct ClockBase {
  u32 references = 0;
  std::vector<Epoch> value;
};

// Hands out bases of one width and takes them back without freeing.
class ClockPool {
 public:
  explicit ClockPool(u32 width) : width_(width) {}
  u32 width() const { return width_; }

  ClockBase* acquire() {
    if (free_.empty()) {
      owned_.push_back(std::make_unique<ClockBase>());
      owned_.back()->value.resize(width_);
      free_.push_back(owned_.back().get());
    }
    ClockBase* base = free_.back();
    free_.pop_back();
    base->references = 1;
    return base;
  }
  void release(ClockBase* base) {
    if (--base->references == 0) free_.push_back(base);
  }

 private:
  u32 width_;
  std::vector<std::unique_ptr<ClockBase>> owned_;
  std::vector<ClockBase*> free_;
};

inline void join(std::vector<Epoch>& into, const std::vector<Epoch>& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

// Components of one thread's clock that it advances itself: (component, value) beside the shared base.
struct OwnClock {
  ClockBase* base = nullptr;
  u32 thread = 0, copies = 0, products = 0, bulk = ~0U;  // component numbers; bulk is assigned at its first use
  Epoch epoch = 1;                                       // of the thread itself
  Epoch copies_waited = 0;                               // stage of cp.async copies that the thread has waited for
  Epoch products_waited = 0;                             // wgmma groups of its warpgroup
  Epoch bulk_waited = 0;                                 // bulk groups whose sources are free again

  bool observed(u32 component, Epoch when) const {
    if (base->value[component] >= when) return true;
    if (component == thread) return true;
    if (component == copies) return copies_waited >= when;
    if (component == products) return products_waited >= when;
    return component == bulk && bulk_waited >= when;
  }

  // Adds everything that this thread has observed or done to `clock`: what a release publishes.
  void publish(std::vector<Epoch>& clock, bool with_base) const {
    if (with_base) join(clock, base->value);
    clock[thread] = std::max(clock[thread], epoch);
    clock[copies] = std::max(clock[copies], copies_waited);
    clock[products] = std::max(clock[products], products_waited);
    if (bulk != ~0U) clock[bulk] = std::max(clock[bulk], bulk_waited);
  }
};

}  // namespace fovea::model
