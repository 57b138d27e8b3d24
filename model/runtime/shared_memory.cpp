// The shadow of shared memory: see shared_memory.h. Everything here runs once per granule and access.
#include "model/runtime/shared_memory.h"

#include <algorithm>
#include <cstring>

namespace fovea::model {

SharedMemory::SharedMemory(u32 bytes, u32 warps, const ProxyFences& fences)
    : fences_(fences),
      slots_(warps + kAgentSlots),
      data_((bytes + 15U) / 16U * 16U),
      granule_(data_.size() / 4),
      reader_(data_.size() / 4),
      block_index_(data_.size() / 4) {
  for (std::size_t i = 0; i + 4 <= data_.size(); i += 4) std::memcpy(&data_[i], "\xad\xde\xa0\x7f", 4);
}

u32 SharedMemory::byte_mask(u32 granule, u32 begin, u32 end) {
  const u32 first = std::max(begin, granule * 4) - granule * 4;
  const u32 last = std::min(end, granule * 4 + 4) - granule * 4;
  return ((1U << last) - 1U) & ~((1U << first) - 1U);
}

namespace {
bool barrier_touched(u32 g, Conflict* conflict) {
  *conflict = {Code::mbarrier_misuse, g * 4, 0, 0, true, Writer::barrier};
  return true;
}
}  // namespace

bool SharedMemory::check_read(u32 g, u32 mask, const Access& access, Conflict* conflict) const {
  const Granule& granule = granule_[g];
  if (((granule.masks >> 4U) & mask) == mask) {
    if ((granule.masks & mask) == 0) return false;
    if (granule.writer == Writer::barrier) return barrier_touched(g, conflict);
    if (!access.clock->observed(granule.component, granule.epoch)) {
      *conflict = {Code::race, g * 4, granule.component, granule.epoch, true, granule.writer};
      return true;
    }
    const bool generic = granule.writer == Writer::generic || granule.writer == Writer::copy;
    if (access.async_proxy && generic && !fences_.fenced(granule.component, granule.epoch, *access.clock)) {
      *conflict = {Code::missing_proxy_fence, g * 4, granule.component, granule.epoch, true, granule.writer};
      return true;
    }
    return false;
  }
  *conflict = {Code::uninitialised_memory, g * 4, 0, 0, false, Writer::generic};
  return true;
}

void SharedMemory::record_read(u32 g, u32 mask, const Access& access) {
  const Reader now{access.epoch, static_cast<u16>(access.component), static_cast<u16>(mask)};
  Reader& only = reader_[g];
  if (block_index_[g] == 0) {
    if (only.mask == 0 || only.component == now.component || access.clock->observed(only.component, only.epoch)) {
      only = now;
      return;
    }
    if (free_blocks_.empty()) {
      blocks_.resize(blocks_.size() + slots_);
      free_blocks_.push_back(static_cast<u32>(blocks_.size() / slots_));
    }
    block_index_[g] = free_blocks_.back();
    free_blocks_.pop_back();
    std::fill_n(block(block_index_[g]), slots_, Reader{});
  }
  block(block_index_[g])[access.slot] = now;
}

bool SharedMemory::conflicting(const Reader& reader, u32 g, u32 mask, const Access& access, Conflict* conflict) const {
  if ((reader.mask & mask) == 0 || reader.component == access.component) return false;
  if (access.clock->observed(reader.component, reader.epoch)) return false;
  *conflict = {Code::race, g * 4, reader.component, reader.epoch, false, Writer::generic};
  return true;
}

bool SharedMemory::check_write(u32 g, u32 mask, const Access& access, Conflict* conflict) const {
  const Granule& granule = granule_[g];
  if (granule.writer == Writer::barrier && access.writer != Writer::barrier) return barrier_touched(g, conflict);
  const bool commutes = access.writer == Writer::reduction && granule.writer == Writer::reduction &&
                        granule.component == access.component && granule.epoch == access.epoch;
  if ((granule.masks & mask) != 0 && !commutes && !access.clock->observed(granule.component, granule.epoch)) {
    *conflict = {Code::race, g * 4, granule.component, granule.epoch, true, granule.writer};
    return true;
  }
  if (conflicting(reader_[g], g, mask, access, conflict)) return true;
  if (block_index_[g] == 0) return false;
  const Reader* readers = blocks_.data() + static_cast<std::size_t>(block_index_[g] - 1) * slots_;
  return std::any_of(readers, readers + slots_,
                     [&](const Reader& reader) { return conflicting(reader, g, mask, access, conflict); });
}

bool SharedMemory::read(u32 offset, u32 bytes, const Access& access, Conflict* conflict) {
  const u32 last = (offset + bytes - 1) / 4;
  for (u32 g = offset / 4; g <= last; ++g) {
    const u32 mask = byte_mask(g, offset, offset + bytes);
    if (check_read(g, mask, access, conflict)) return true;
    record_read(g, mask, access);
  }
  return false;
}

bool SharedMemory::write(u32 offset, u32 bytes, const Access& access, Conflict* conflict) {
  const u32 last = (offset + bytes - 1) / 4;
  for (u32 g = offset / 4; g <= last; ++g) {
    const u32 mask = byte_mask(g, offset, offset + bytes);
    if (check_write(g, mask, access, conflict)) return true;
    Granule& granule = granule_[g];
    granule = {access.epoch, static_cast<u16>(access.component),
               static_cast<u8>(mask | (granule.masks & 0xf0U) | (mask << 4U)), access.writer};
    reader_[g] = {};
    if (block_index_[g] != 0) {
      free_blocks_.push_back(block_index_[g]);
      block_index_[g] = 0;
    }
  }
  return false;
}

bool SharedMemory::unordered(u32 offset, const Access& access, Conflict* conflict) const {
  const Granule& granule = granule_[offset / 4];
  if (access.clock->observed(granule.component, granule.epoch)) return false;
  *conflict = {Code::race, offset, granule.component, granule.epoch, true, granule.writer};
  return true;
}

void SharedMemory::clear_barrier(u32 offset) {
  granule_[offset / 4] = {};
  granule_[offset / 4 + 1] = {};
}

}  // namespace fovea::model
