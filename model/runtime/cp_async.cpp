// Non-bulk asynchronous copies (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy"). A copy counts as
// a write of the thread's copy agent; the agent's epoch is a stage number, and waiting for a group observes the stages
// in it. So a touch before the wait, or by another thread without a barrier after it, is not ordered: a fault.
#include <algorithm>
#include <cstring>

#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
void land(Thread& self, PendingCopy& copy) {
  u8* to = self.cta().smem->at(copy.offset);
  std::memcpy(to, copy.source, copy.source_bytes);
  std::memset(to + copy.source_bytes, 0, copy.size - copy.source_bytes);
  copy.landed = true;
}

void land_through(Thread& self, Epoch stage) {
  std::size_t& i = self.copies_begin;
  for (; i < self.copies.size() && self.copies[i].stage <= stage; ++i) {
    if (!self.copies[i].landed) land(self, self.copies[i]);
  }
  if (i == self.copies.size()) {
    self.copies.clear();
    i = 0;
  }
}

void wait_through(Thread& self, Epoch stage) {
  land_through(self, stage);
  self.clock.copies_waited = std::max(self.clock.copies_waited, stage);
}
}  // namespace

void Thread::cp_async(u32 dst, const void* src, u32 size, u32 src_bytes, CacheOp cache) {
  const char* name = cache == CacheOp::cg ? "cp.async.cg" : "cp.async.ca";
  const u32 offset = own_offset(dst, size, size, name);
  if (src_bytes > size) {
    fail(Code::illegal_argument, format("%s of %u bytes with src-size %u", name, size, src_bytes));
  }
  if (reinterpret_cast<u64>(src) % size != 0) {
    fail(Code::misaligned, format("%s of %u bytes from %s: the address is not a multiple of %u", name, size,
                                  machine->global.describe(src, src_bytes).c_str(), size));
  }
  if (src_bytes != 0) need_global(src, src_bytes, 1, false, name);
  Access as = access(Writer::copy);
  as.component = clock.copies;
  as.epoch = copy_stage;
  write_shared(cta(), offset, size, as, name);
  copies.push_back(
      {offset, static_cast<const u8*>(src), static_cast<u8>(size), static_cast<u8>(src_bytes), false, copy_stage});
  machine->counters.cp_async_bytes += size;
  machine->counters.global_bytes_read += src_bytes;
  const AsyncLanding landing = machine->config.landing;
  const bool now =
      landing == AsyncLanding::eager || (landing == AsyncLanding::random && machine->scheduler.random().below(2) == 0);
  if (now) {
    land(*this, copies.back());
  } else {
    for (u32 i = 0; i < size; i += 4) std::memcpy(cta().smem->at(offset + i), &kUndefinedBits, 4);
  }
}

void Thread::cp_async_commit_group() { copy_groups.push_back(copy_stage++); }

void Thread::cp_async_wait_group(u32 newest_pending) {
  if (copy_groups.size() <= newest_pending) return;
  wait_through(*this, copy_groups[copy_groups.size() - 1 - newest_pending]);
  // Older groups are complete with it; the newest ones stay countable.
  copy_groups.erase(copy_groups.begin(), copy_groups.end() - newest_pending);
}

void Thread::cp_async_wait_all() {
  wait_through(*this, copy_stage++);
  copy_groups.clear();
}

// PTX ISA, "cp.async.mbarrier.arrive": an arrival once all copies so far are complete, which they make visible to those
// who wait on the mbarrier. Without .noinc the pending count grows by one first.
void Thread::cp_async_mbarrier_arrive(u32 mbar, bool noinc) {
  const u32 offset = own_offset(mbar, 8, 8, "cp.async.mbarrier.arrive");
  MbarrierObject& object = mbarrier_object(cta(), offset, "cp.async.mbarrier.arrive");
  if (!noinc) ++object.pending;
  const Epoch stage = copy_stage++;
  // The arrival is asynchronous: it publishes what the thread had done before this instruction, as of now.
  if (object.arriving[clock.copies] < stage) object.arriving[clock.copies] = stage;
  machine->issue([this, offset, stage] {
    land_through(*this, stage);
    mbarrier_count(cta(), offset, 1, 0, "cp.async.mbarrier.arrive");
  });
}

}  // namespace fovea::model
