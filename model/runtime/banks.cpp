// Bank conflicts: see banks.h. Accesses of 8 and 16 bytes are served for a half or a quarter of the lanes at a time.
#include "model/runtime/banks.h"

#include <algorithm>

namespace fovea::model {

BankUse bank_use(const u32* addresses, u32 lanes, u32 bytes) {
  const u32 words = std::max(bytes / 4, 1U);
  const u32 per_pass = 32 / words;
  BankUse use;
  for (u32 begin = 0; begin < lanes; begin += per_pass) {
    const u32 end = std::min(begin + per_pass, lanes);
    u32 word_of_bank[32][32];
    u32 count[32] = {};
    u32 ways = 1;
    for (u32 lane = begin; lane < end; ++lane) {
      for (u32 i = 0; i < words; ++i) {
        const u32 word = addresses[lane] / 4 + i;
        u32* bank = word_of_bank[word % 32];
        u32& distinct = count[word % 32];
        if (std::find(bank, bank + distinct, word) == bank + distinct) bank[distinct++] = word;
        ways = std::max(ways, distinct);
      }
    }
    use.wavefronts += ways;
    use.conflicts += ways - 1;
  }
  return use;
}

void BankRecorder::record(u32 position, u32 address, u32 bytes, bool store, Counters& counters) {
  if (position >= kMaxGroups) {
    ++counters.smem_unattributed;
    return;
  }
  if (position >= groups_.size()) groups_.resize(position + 64);
  used_ = std::max(used_, position + 1);
  Group& group = groups_[position];
  const bool other = group.lanes != 0 && (group.bytes != bytes || group.store != store);
  if (other || group.lanes == 32) {
    ++counters.smem_unattributed;
    return;
  }
  group.bytes = bytes;
  group.store = store;
  group.address[group.lanes++] = address;
}

void BankRecorder::flush(Counters& counters) {
  for (u32 i = 0; i < used_; ++i) {
    const BankUse use = bank_use(groups_[i].address, groups_[i].lanes, groups_[i].bytes);
    counters.smem_wavefronts += use.wavefronts;
    counters.smem_bank_conflict_ways += use.conflicts;
    groups_[i].lanes = 0;
  }
  used_ = 0;
}

}  // namespace fovea::model
