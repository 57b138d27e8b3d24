// Tensor copies in tiled mode (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"). Rows of the box lie in
// shared memory at the pitch of the box, or of the swizzle where that is wider; the swizzle is a function of the byte
// address. Elements outside the tensor load as the fill value and are not stored; complete_tx counts the whole box.
#include <cstring>

#include "model/runtime/async_copy.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
constexpr const char* kNames[] = {"cp.async.bulk.tensor (load)", "cp.async.bulk.tensor (store)",
                                  "cp.reduce.async.bulk.tensor (add)"};

// One box: which 16-byte chunks of shared memory it fills, and the global element behind each element.
struct Box {
  TiledMap map;
  i32 start[5] = {};
  u32 smem = 0;  // byte address in the CTA's window, without rank
  u32 chunks_per_row() const { return map.box[0] * map.element_bytes() / 16; }
  u32 rows() const { return map.box_bytes() / (map.box[0] * map.element_bytes()); }
  u32 pitch() const {
    const u32 inner = map.box[0] * map.element_bytes();
    return map.swizzle == MapSwizzle::none ? inner : std::max(inner, map.span_bytes());
  }
  u32 extent() const { return (rows() - 1) * pitch() + map.box[0] * map.element_bytes(); }
  // Offset in dynamic shared memory of a chunk.
  u32 chunk_offset(u32 row, u32 chunk) const {
    return swizzled(smem + row * pitch() + chunk * 16, map.swizzle) - kSmemBase;
  }
  // The first element of a row, or null when the row is outside in a dimension above 0.
  u8* row_base(u32 row) const {
    u8* base = static_cast<u8*>(const_cast<void*>(map.base));
    for (u32 i = 1; i < map.rank; ++i) {
      const i64 at = i64{start[i]} + row % map.box[i];
      row /= map.box[i];
      if (at < 0 || static_cast<u64>(at) >= map.dim[i]) return nullptr;
      base += static_cast<u64>(at) * map.stride[i - 1];
    }
    return base;
  }
  bool inside(i64 column) const { return column >= 0 && static_cast<u64>(column) < map.dim[0]; }
};

// Calls `visit(offset, element)` for each element; `element` is null outside the tensor.
template <class Visit>
void for_each_element(const Box& box, Visit visit) {
  const u32 size = box.map.element_bytes();
  for (u32 row = 0; row < box.rows(); ++row) {
    u8* base = box.row_base(row);
    for (u32 i = 0; i < box.map.box[0]; ++i) {
      const i64 column = i64{box.start[0]} + i;
      u8* element = base != nullptr && box.inside(column) ? base + static_cast<u64>(column) * size : nullptr;
      visit(box.chunk_offset(row, i * size / 16) + i * size % 16, element);
    }
  }
}

void fill_element(u8* to, const TiledMap& map) {
  const u32 size = map.element_bytes();
  std::memset(to, 0, size);
  if (map.fill == OobFill::zeros) return;
  if (size == 2) std::memcpy(to, "\xff\x7f", 2);
  if (size == 4) std::memcpy(to, "\xff\xff\xff\x7f", 4);
}

void land_load(const Box& box, SharedMemory& smem) {
  const u32 size = box.map.element_bytes();
  for_each_element(box, [&](u32 offset, const u8* element) {
    if (element != nullptr) {
      std::memcpy(smem.at(offset), element, size);
    } else {
      fill_element(smem.at(offset), box.map);
    }
  });
}

void need_global_box(const Thread& self, const Box& box, bool write, const char* name) {
  const u32 size = box.map.element_bytes();
  for (u32 row = 0; row < box.rows(); ++row) {
    const u8* base = box.row_base(row);
    if (base == nullptr) continue;
    const i64 first = std::max<i64>(box.start[0], 0);
    const i64 end = std::min<i64>(i64{box.start[0]} + box.map.box[0], static_cast<i64>(box.map.dim[0]));
    if (first >= end) continue;
    self.need_global(base + static_cast<u64>(first) * size, static_cast<u64>(end - first) * size, 1, write, name);
  }
}

Box make_box(const Thread& self, const TmaArgs& args, const char* name) {
  Box box;
  if (reinterpret_cast<u64>(args.map) % 64 != 0)
    self.fail(Code::misaligned, format("%s: map not 64-byte aligned", name));
  if (!decode_tiled(*args.map, &box.map)) {
    self.fail(Code::illegal_argument, format("%s: these 128 bytes are not a tensor map of the model", name));
  }
  if (box.map.rank != args.rank) {
    self.fail(Code::illegal_argument,
              format("%s with %u coordinates for a map of rank %u", name, args.rank, box.map.rank));
  }
  for (u32 i = 0; i < args.rank; ++i) box.start[i] = args.coord[i];
  box.smem = args.smem & ((1U << kRankShift) - 1U);
  return box;
}

void store(Thread& self, const Box& box, bool add, const char* name) {
  for (u32 i = 0; i < box.map.rank; ++i) {
    if (box.start[i] < 0)
      self.fail(Code::illegal_argument, format("%s at coordinate %d: negative", name, box.start[i]));
  }
  need_global_box(self, box, true, name);
  const Access access = store_access(self);
  Cta& cta = self.cta();
  for (u32 row = 0; row < box.rows(); ++row) {
    for (u32 c = 0; c < box.chunks_per_row(); ++c) self.read_shared(cta, box.chunk_offset(row, c), 16, access, name);
  }
  auto staged = std::make_shared<std::vector<u8>>();
  const u32 size = box.map.element_bytes();
  issue_store(
      self,
      [=, smem = cta.smem.get()] {
        for_each_element(box, [&](u32 offset, const u8*) {
          staged->insert(staged->end(), smem->at(offset), smem->at(offset) + size);
        });
      },
      [=] {
        const u8* from = staged->data();
        for_each_element(box, [&](u32, u8* element) {
          if (element != nullptr && add) add_element(box.map.type, element, from);
          if (element != nullptr && !add) std::memcpy(element, from, size);
          from += size;
        });
      });
}
}  // namespace

void Thread::tma(const TmaArgs& args) {
  const char* name = kNames[static_cast<u32>(args.op)];
  need_sm(90, name);
  const Box box = make_box(*this, args, name);
  machine->counters.tma_bytes += box.map.box_bytes();
  // Where a swizzled box ends is not where its last chunk lies: the whole pattern has to fit.
  own_offset(args.smem, box.extent(), 128, name);
  if (args.op != TmaOp::load) {
    store(*this, box, args.op == TmaOp::reduce_add, name);
    return;
  }
  need_global_box(*this, box, false, name);
  machine->counters.global_bytes_read += box.map.box_bytes();
  const u32 mbar = own_offset(args.mbar, 8, 8, name);
  const u32 targets = args.multicast ? args.cta_mask : 1U << cta().rank;
  if (args.multicast && machine->config.sm == 120)
    fail(Code::architecture, format("%s: sm_120 has no multicast", name));
  if (targets == 0 || targets >> cluster().ctas.size() != 0) {
    fail(Code::illegal_argument, format("%s: multicast mask 0x%x names CTAs outside the cluster", name, targets));
  }
  for (u32 rank = 0; rank < cluster().ctas.size(); ++rank) {
    if ((targets >> rank & 1U) == 0) continue;
    Cta& where = *cluster().ctas[rank];
    const LoadTarget target = load_target(*this, where, mbar, name);
    for (u32 row = 0; row < box.rows(); ++row) {
      for (u32 c = 0; c < box.chunks_per_row(); ++c) {
        write_shared(where, box.chunk_offset(row, c), 16, target.access, name);
      }
    }
    machine->issue([=, this] {
      land_load(box, *target.cta->smem);
      complete_load(*this, target, box.map.box_bytes(), name);
    });
  }
}

void Thread::prefetch_tensormap(const TensorMap* map) {
  need_sm(90, "prefetch.tensormap");
  TiledMap decoded;
  if (!decode_tiled(*map, &decoded)) {
    fail(Code::illegal_argument, "prefetch.tensormap: these 128 bytes are not a tensor map of the model");
  }
}

}  // namespace fovea::model
