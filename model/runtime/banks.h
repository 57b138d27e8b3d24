// Counts how many passes over the 32 banks shared-memory instructions need. Lanes run one after another here, so the
// n-th access of each lane since the last warp-wide instruction is taken to be one instruction.
#pragma once

#include <vector>

#include "model/launch.h"

namespace fovea::model {

// One warp-wide access of `bytes` per lane at the given addresses: passes over the banks, and how many were needless.
struct BankUse {
  u32 wavefronts = 0, conflicts = 0;
};
BankUse bank_use(const u32* addresses, u32 lanes, u32 bytes);

class BankRecorder {
 public:
  void record(u32 position, u32 address, u32 bytes, bool store, Counters& counters);
  void flush(Counters& counters);

 private:
  struct Group {
    u32 lanes = 0, bytes = 0;
    bool store = false;
    u32 address[32] = {};
  };
  static constexpr u32 kMaxGroups = 2048;
  std::vector<Group> groups_;
  u32 used_ = 0;
};

}  // namespace fovea::model
