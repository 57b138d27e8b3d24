// Bulk copies without a tensor map, and bulk groups (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk",
// "cp.async.bulk.commit_group", "cp.async.bulk.wait_group").
#include <cmath>
#include <cstring>

#include "model/runtime/async_copy.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
u32 local(u32 address) { return (address & ((1U << kRankShift) - 1U)) - kSmemBase; }
}  // namespace

LoadTarget load_target(const Thread& self, Cta& cta, u32 mbar_offset, const char* instruction) {
  MbarrierObject& object = self.mbarrier_object(cta, mbar_offset, instruction);
  if (!object.fenced) {
    self.fail(Code::missing_proxy_fence,
              format("%s signals the mbarrier at 0x%x, whose initialiser executed no fence.mbarrier_init", instruction,
                     mbar_offset + kSmemBase));
  }
  LoadTarget target{&cta, mbar_offset, self.access(Writer::async_proxy)};
  target.access.component = object.agent;
  target.access.epoch = object.phase + 1;
  target.access.slot = self.cluster().threads / 32 + object.agent % kAgentSlots;
  target.access.async_proxy = true;
  return target;
}

void complete_load(const Thread& self, const LoadTarget& target, u32 bytes, const char* instruction) {
  const MbarrierObject& object = *target.cta->mbarriers[target.cta->mbarrier_at[target.mbar / 8] - 1];
  if (object.phase + 1 != target.access.epoch) {
    self.fail(Code::mbarrier_misuse,
              format("%s of %u bytes was issued in phase %u of the mbarrier at 0x%x and lands in phase %u: that phase "
                     "expected fewer bytes than its copies have",
                     instruction, bytes, target.access.epoch - 1, target.mbar + kSmemBase, object.phase));
  }
  self.mbarrier_count(*target.cta, target.mbar, 0, -static_cast<i64>(bytes), instruction);
}

Access store_access(Thread& self) {
  if (self.clock.bulk == ~0U) self.clock.bulk = self.cluster().new_agent(self);
  Access access = self.access();
  access.component = self.clock.bulk;
  access.epoch = self.bulk_group;
  access.slot = self.cluster().threads / 32 + self.clock.bulk % kAgentSlots;
  access.async_proxy = true;
  return access;
}

void issue_store(Thread& self, std::function<void()> read, std::function<void()> write) {
  auto taken = std::make_shared<bool>(false);
  auto take = [taken, read = std::move(read)] {
    if (!*taken) read();
    *taken = true;
  };
  const u32 operation = self.machine->issue([take, write = std::move(write)] {
    take();
    write();
  });
  self.bulk_stores.push_back({self.bulk_group, operation, std::move(take)});
}

void Thread::bulk(BulkOp op, u32 smem, void* other, u32 remote, u32 bytes, u32 mbar) {
  constexpr const char* kNames[] = {"cp.async.bulk.shared.global", "cp.async.bulk.global.shared",
                                    "cp.reduce.async.bulk.global.shared.add.f32",
                                    "cp.async.bulk.shared::cluster.shared::cta"};
  const char* name = kNames[static_cast<u32>(op)];
  need_sm(90, name);
  if (bytes == 0 || bytes % 16 != 0) {
    fail(Code::illegal_argument, format("%s of %u bytes: a multiple of 16 is needed", name, bytes));
  }
  const bool reduce = op == BulkOp::reduce_add_f32;
  machine->counters.bulk_bytes += bytes;
  if (op == BulkOp::load) {
    Cta& where = cta();
    const u32 offset = own_offset(smem, bytes, 16, name);
    need_global(other, bytes, 16, false, name);
    const LoadTarget target = load_target(*this, where, own_offset(mbar, 8, 8, name), name);
    write_shared(where, offset, bytes, target.access, name);
    machine->issue([=, this] {
      std::memcpy(target.cta->smem->at(offset), other, bytes);
      complete_load(*this, target, bytes, name);
    });
    return;
  }
  const u32 source = own_offset(smem, bytes, 16, name);
  u8* from = cta().smem->at(source);
  if (op == BulkOp::copy_cluster) {
    Cta& where = cta_of(remote, bytes, 16, name);
    cta_of(mbar, 8, 8, name);
    if (mbar >> kRankShift != where.rank) {
      fail(Code::illegal_argument, format("%s: destination and mbarrier are in different CTAs", name));
    }
    const LoadTarget target = load_target(*this, where, local(mbar), name);
    read_shared(cta(), source, bytes, target.access, name);
    write_shared(where, local(remote), bytes, target.access, name);
    machine->issue([=, this] {
      std::memcpy(target.cta->smem->at(local(remote)), from, bytes);
      complete_load(*this, target, bytes, name);
    });
    return;
  }
  need_global(other, bytes, 16, true, name);
  read_shared(cta(), source, bytes, store_access(*this), name);
  machine->counters.global_bytes_written += bytes;
  auto staged = std::make_shared<std::vector<u8>>(bytes);
  issue_store(
      *this, [=] { std::memcpy(staged->data(), from, bytes); },
      [=] {
        for (u32 i = 0; i < bytes; i += 4) {
          u8* to = static_cast<u8*>(other) + i;
          if (reduce) {
            add_element(MapType::f32, to, staged->data() + i);
          } else {
            std::memcpy(to, staged->data() + i, 4);
          }
        }
      });
}

void Thread::bulk_commit_group() {
  need_sm(90, "cp.async.bulk.commit_group");
  ++bulk_group;
}

void Thread::bulk_wait_group(u32 newest_pending, bool read_only) {
  need_sm(90, "cp.async.bulk.wait_group");
  const u32 committed = bulk_group - 1;
  const u32 through = committed > newest_pending ? committed - newest_pending : 0;
  for (const BulkStore& store : bulk_stores) {
    if (store.group > through) continue;
    if (read_only) {
      store.take();
    } else {
      machine->finish(store.operation);
    }
  }
  clock.bulk_waited = std::max(clock.bulk_waited, through);
  if (!read_only) std::erase_if(bulk_stores, [through](const BulkStore& store) { return store.group <= through; });
}

void add_element(MapType type, u8* into, const u8* value) {
  if (type == MapType::f32) {  // keeps subnormals, unlike red; a NaN is 0x7fffffff
    f32 a, b;
    std::memcpy(&a, into, 4);
    std::memcpy(&b, value, 4);
    a += b;
    if (std::isnan(a)) a = f32_from_bits(0x7fffffffU);
    std::memcpy(into, &a, 4);
  } else if (type == MapType::bf16 || type == MapType::f16) {  // .add.noftz; the f32 sum of two such values, rounded
    u16 a, b;
    std::memcpy(&a, into, 2);
    std::memcpy(&b, value, 2);
    a = type == MapType::bf16 ? f32_to_bf16(bf16_to_f32(a) + bf16_to_f32(b))
                              : f32_to_f16(f16_to_f32(a) + f16_to_f32(b));
    std::memcpy(into, &a, 2);
  } else if (type == MapType::u32 || type == MapType::i32) {
    u32 a, b;
    std::memcpy(&a, into, 4);
    std::memcpy(&b, value, 4);
    a += b;
    std::memcpy(into, &a, 4);
  } else {
    u64 a, b;
    std::memcpy(&a, into, 8);
    std::memcpy(&b, value, 8);
    a += b;
    std::memcpy(into, &a, 8);
  }
}

}  // namespace fovea::model
