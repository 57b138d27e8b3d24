// ld, st, atom and red (PTX ISA, "Data Movement and Conversion Instructions", "atom", "red").
#include <cmath>
#include <cstring>

#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
void need_defined_words(const Thread& self, const void* value, u32 bytes, const char* instruction) {
  for (u32 i = 0; i + 4 <= bytes; i += 4) {
    u32 word;
    std::memcpy(&word, static_cast<const u8*>(value) + i, 4);
    self.need_defined(word, instruction, "value");
  }
}

// Subnormals become zeros of the same sign.
f32 flushed(f32 x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }
}  // namespace

void Thread::load_global(void* value, const void* address, u32 bytes, GlobalLoad kind) {
  const char* name = kind == GlobalLoad::nc            ? "ld.global.nc"
                     : kind == GlobalLoad::acquire_gpu ? "ld.acquire.gpu.global"
                                                       : "ld.global";
  if (kind == GlobalLoad::acquire_gpu) machine->scheduler.yield(*this);
  need_global(address, bytes, bytes, false, name);
  std::memcpy(value, address, bytes);
  machine->counters.global_bytes_read += bytes;
}

void Thread::store_global(void* address, const void* value, u32 bytes, GlobalStore kind) {
  const char* name = kind == GlobalStore::release_gpu ? "st.release.gpu.global" : "st.global";
  need_global(address, bytes, bytes, true, name);
  need_defined_words(*this, value, bytes, name);
  std::memcpy(address, value, bytes);
  machine->counters.global_bytes_written += bytes;
}

// Other threads get their turn before an atomic: its order among them is what a kernel must not depend on.
u32 Thread::atomic_global(Atomic op, u32* address, u32 operand) {
  const char* name = op == Atomic::add ? "atom.global.add" : "atom.global.inc";
  machine->scheduler.yield(*this);
  need_global(address, 4, 4, true, name);
  need_defined(operand, name, "b");
  const u32 before = *address;
  *address = op == Atomic::add ? before + operand : (before >= operand ? 0 : before + 1);
  return before;
}

void Thread::red_add_global(f32* address, const f32* values, u32 count) {
  const char* name = count == 1 ? "red.global.add.f32" : count == 2 ? "red.global.add.v2.f32" : "red.global.add.v4.f32";
  if (count > 1) need_sm(90, name);
  need_global(address, count * 4U, count * 4U, true, name);
  need_defined_words(*this, values, count * 4U, name);
  for (u32 i = 0; i < count; ++i) {  // flushes subnormals; a NaN is 0x7fffffff
    const f32 sum = flushed(flushed(address[i]) + flushed(values[i]));
    address[i] = std::isnan(sum) ? f32_from_bits(0x7fffffffU) : sum;
  }
  machine->counters.global_bytes_written += count * 4U;
}

void Thread::load_shared(void* value, u32 address, u32 bytes) {
  const u32 offset = own_offset(address, bytes, bytes, "ld.shared");
  read_shared(cta(), offset, bytes, access(), "ld.shared");
  std::memcpy(value, cta().smem->at(offset), bytes);
  cta().banks[warp->index].record(smem_accesses++, offset, bytes, false, machine->counters);
}

void Thread::store_shared(u32 address, const void* value, u32 bytes) {
  const u32 offset = own_offset(address, bytes, bytes, "st.shared");
  need_defined_words(*this, value, bytes, "st.shared");
  write_shared(cta(), offset, bytes, access(), "st.shared");
  std::memcpy(cta().smem->at(offset), value, bytes);
  cta().banks[warp->index].record(smem_accesses++, offset, bytes, true, machine->counters);
}

}  // namespace fovea::model
