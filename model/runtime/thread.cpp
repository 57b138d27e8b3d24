// What every family of instructions shares: names for fault texts, checks of addresses and registers, gathering a warp.
#include "model/runtime/thread.h"

#include <cstdio>

#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

Cta& Thread::cta() const { return *warp->cta; }
Cluster& Thread::cluster() const { return *warp->cta->cluster; }

std::string Thread::name() const {
  const Cta& c = cta();
  std::string text = format("thread %u (warp %u lane %u) of cta (%u,%u,%u)", tid, warp->index, lane, c.x, c.y, c.z);
  if (role[0] != '\0') text += format(" [role %s]", role);
  return text;
}

void Thread::fail(Code code, const std::string& text) const { machine->fail(*this, code, text); }

void Thread::need_sm(int sm, const char* instruction) const {
  if (machine->config.sm >= sm) return;
  fail(Code::architecture, format("%s needs sm_%d, this launch is for sm_%d", instruction, sm, machine->config.sm));
}

void Thread::need_defined(u32 value, const char* instruction, const char* operand) const {
  constexpr u32 kQuiet = 0x00400000U;  // what arithmetic on such a NaN sets
  const u32 signalling = value & ~kQuiet;
  if (signalling == kUndefinedBits) {
    fail(Code::uninitialised_register, format("%s reads operand %s, which nobody wrote", instruction, operand));
  }
  if (signalling == kInFlightBits) {
    fail(Code::accumulator_in_flight,
         format("%s reads operand %s, an accumulator of a wgmma that has not been waited for", instruction, operand));
  }
}

namespace {
void check_range(const Thread& self, u32 address, u32 bytes, u32 alignment, u32 size, const char* instruction) {
  const u32 local = address & ((1U << kRankShift) - 1U);
  if (local % alignment != 0) {
    self.fail(Code::misaligned, format("%s of %u bytes at shared address 0x%x, which is not a multiple of %u",
                                       instruction, bytes, local, alignment));
  }
  if (local < kSmemBase || local - kSmemBase > size || bytes > size - (local - kSmemBase)) {
    self.fail(Code::out_of_bounds,
              format("%s of %u bytes at shared address 0x%x; dynamic shared memory is [0x%x, 0x%x)", instruction, bytes,
                     local, kSmemBase, kSmemBase + size));
  }
}
}  // namespace

u32 Thread::own_offset(u32 address, u32 bytes, u32 alignment, const char* instruction) const {
  if (address >> kRankShift != cta().rank) {
    fail(Code::out_of_bounds, format("%s takes an address of its own CTA (rank %u), got 0x%x of rank %u", instruction,
                                     cta().rank, address & ((1U << kRankShift) - 1U), address >> kRankShift));
  }
  check_range(*this, address, bytes, alignment, machine->config.smem_bytes, instruction);
  return (address & ((1U << kRankShift) - 1U)) - kSmemBase;
}

Cta& Thread::cta_of(u32 address, u32 bytes, u32 alignment, const char* instruction) const {
  const u32 rank = address >> kRankShift;
  if (rank >= cluster().ctas.size()) {
    fail(Code::out_of_bounds,
         format("%s at an address of CTA rank %u; the cluster has %zu CTAs", instruction, rank, cluster().ctas.size()));
  }
  check_range(*this, address, bytes, alignment, machine->config.smem_bytes, instruction);
  Cta& other = *cluster().ctas[rank];
  if (&other != &cta() && other.exited == other.threads.size()) {
    fail(Code::out_of_bounds, format("%s to shared memory of CTA rank %u, which has exited", instruction, rank));
  }
  return other;
}

Access Thread::access(Writer writer) const {
  Access access;
  access.clock = &clock;
  access.component = clock.thread;
  access.epoch = clock.epoch;
  access.slot = cta().rank * static_cast<u32>(cta().warps.size()) + warp->index;
  access.writer = writer;
  return access;
}

namespace {
std::string describe(const Thread& self, const Conflict& conflict, bool write) {
  const u32 address = conflict.address + kSmemBase;
  const Cluster& cluster = self.cluster();
  const std::string other = cluster.component_name(conflict.component);
  if (conflict.code == Code::uninitialised_memory) return format("reads 0x%x, which nobody wrote", address);
  if (conflict.code == Code::missing_proxy_fence) {
    return format(
        "reads 0x%x through the async proxy; %s wrote it, and executed no fence.proxy.async between that "
        "and the barrier that orders the two",
        address, other.c_str());
  }
  const char* verb = write ? "writes" : "reads";
  if (conflict.code == Code::mbarrier_misuse) return format("%s 0x%x, which holds an mbarrier", verb, address);
  if (conflict.code == Code::copy_in_flight) {
    return format("%s 0x%x, where a copy issued by %s is in flight: its wait has not been executed", verb, address,
                  other.c_str());
  }
  return format("%s 0x%x, which %s %s; no barrier orders the two", verb, address, other.c_str(),
                conflict.other_wrote ? "wrote" : "read");
}

// A copy whose issuer has not waited either is in flight; one that it has waited for lacks a barrier only.
void classify(const Thread& self, Conflict& conflict) {
  if (!conflict.other_wrote) return;
  const Cluster& cluster = self.cluster();
  const u32 n = cluster.threads;
  if (conflict.writer == Writer::copy && conflict.component >= n && conflict.component < 2 * n) {
    if (cluster.thread(conflict.component - n).clock.copies_waited < conflict.epoch) {
      conflict.code = Code::copy_in_flight;
    }
  } else if (conflict.writer != Writer::generic && conflict.writer != Writer::barrier) {
    conflict.code = Code::copy_in_flight;
  }
}
}  // namespace

void Thread::read_shared(Cta& where, u32 offset, u32 bytes, const Access& with, const char* instruction) const {
  Conflict conflict;
  if (!where.smem->read(offset, bytes, with, &conflict)) return;
  if (conflict.code == Code::race) classify(*this, conflict);
  fail(conflict.code,
       format("%s of %u bytes at 0x%x ", instruction, bytes, offset + kSmemBase) + describe(*this, conflict, false));
}

void Thread::write_shared(Cta& where, u32 offset, u32 bytes, const Access& with, const char* instruction) const {
  Conflict conflict;
  if (!where.smem->write(offset, bytes, with, &conflict)) return;
  if (conflict.code == Code::race) classify(*this, conflict);
  fail(conflict.code,
       format("%s of %u bytes at 0x%x ", instruction, bytes, offset + kSmemBase) + describe(*this, conflict, true));
}

void Thread::need_global(const void* address, u64 bytes, u64 alignment, bool write, const char* instruction) const {
  if (reinterpret_cast<u64>(address) % alignment != 0) {
    fail(Code::misaligned, format("%s of %llu bytes at %s: the address is not a multiple of %llu", instruction, bytes,
                                  machine->global.describe(address, bytes).c_str(), alignment));
  }
  const Region* region = machine->global.find(address, bytes);
  if (region == nullptr) {
    fail(Code::out_of_bounds,
         format("%s of %llu bytes %s", instruction, bytes, machine->global.describe(address, bytes).c_str()));
  }
  if (write && !region->writable) {
    fail(Code::read_only, format("%s of %llu bytes at %s, which is read-only", instruction, bytes,
                                 machine->global.describe(address, bytes).c_str()));
  }
}

void Thread::set_base(ClockBase* base) {
  ClockBase* old = clock.base;
  clock.base = base;
  cluster().clocks->release(old);
}

}  // namespace fovea::model
