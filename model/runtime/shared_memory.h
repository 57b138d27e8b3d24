// Shared memory of one CTA with a shadow that knows, for every 4-byte granule, which bytes are initialised, who wrote
// them last and who read them since. An access that is not ordered after the ones it conflicts with is reported with
// both sides. When data really lands plays no part: an asynchronous write counts from its issue, and is observed by
// those whose clock includes the wait that it is for.
#pragma once

#include <string>
#include <vector>

#include "model/launch.h"
#include "model/runtime/clock.h"

namespace fovea::model {

// Shared addresses start here: dynamic shared memory stands 1024-aligned above what the system reserves.
inline constexpr u32 kSmemBase = 1024;
inline constexpr u32 kRankShift = 24;  // a CTA's rank in its cluster, in every shared address

// reduction: an asynchronous one; those of one agent and epoch commute, so they do not conflict.
enum class Writer : u8 { generic, copy, async_proxy, reduction, barrier };

// Who touches memory: the component and epoch that later accesses have to observe, and what they are told otherwise.
struct Access {
  const OwnClock* clock = nullptr;  // what the accessor has observed
  u32 component = 0;                // what others must observe
  Epoch epoch = 0;
  u32 slot = 0;  // where reads are recorded: one per warp and a few for agents
  Writer writer = Writer::generic;
  bool async_proxy = false;  // a read through the async proxy
};

// What a check found; the caller turns it into a fault that names threads.
struct Conflict {
  Code code = Code::race;
  u32 address = 0;
  u32 component = 0;  // of the other side
  Epoch epoch = 0;
  bool other_wrote = false;
  Writer writer = Writer::generic;
};

// Whether a write of (component, epoch) has been made visible to the async proxy for a reader with this clock.
class ProxyFences {
 public:
  virtual bool fenced(u32 component, Epoch epoch, const OwnClock& reader) const = 0;

 protected:
  ~ProxyFences() = default;
};

class SharedMemory {
 public:
  SharedMemory(u32 bytes, u32 warps, const ProxyFences& fences);

  u32 bytes() const { return static_cast<u32>(data_.size()); }
  // `offset` counts from the start of dynamic shared memory; bounds are the caller's business.
  u8* at(u32 offset) { return data_.data() + offset; }

  // Checks and records; nothing is copied. True: a conflict, written to `conflict`.
  bool read(u32 offset, u32 bytes, const Access& access, Conflict* conflict);
  bool write(u32 offset, u32 bytes, const Access& access, Conflict* conflict);
  // mbarrier objects: plain accesses to them are faults.
  // Whether the last write of the granule is not ordered before the accessor.
  bool unordered(u32 offset, const Access& access, Conflict* conflict) const;
  void clear_barrier(u32 offset);

 private:
  struct Granule {
    Epoch epoch = 0;
    u16 component = 0;
    u8 masks = 0;  // low half: bytes of the last write; high half: bytes initialised
    Writer writer = Writer::generic;
  };
  struct Reader {
    Epoch epoch = 0;
    u16 component = 0;
    u16 mask = 0;  // 0: none
  };

  static u32 byte_mask(u32 granule, u32 begin, u32 end);
  bool check_read(u32 g, u32 mask, const Access& access, Conflict* conflict) const;
  void record_read(u32 g, u32 mask, const Access& access);
  bool check_write(u32 g, u32 mask, const Access& access, Conflict* conflict) const;
  bool conflicting(const Reader& reader, u32 g, u32 mask, const Access& access, Conflict* conflict) const;
  Reader* block(u32 index) { return blocks_.data() + static_cast<std::size_t>(index - 1) * slots_; }

  const ProxyFences& fences_;
  u32 slots_;
  std::vector<u8> data_;
  std::vector<Granule> granule_;
  std::vector<Reader> reader_;    // the only reader, while there is one
  std::vector<u32> block_index_;  // 0, or 1 + the block of `slots_` readers that takes over
  std::vector<Reader> blocks_;
  std::vector<u32> free_blocks_;
};

inline constexpr u32 kAgentSlots = 8;  // reader slots that asynchronous agents share

}  // namespace fovea::model
