// Operands by descriptor, checks, and D = A B + D of m64nNk16 and m64nNk32: thread t of warp w holds rows 16 w + t / 4
// and 8 more, register i columns 8 (i / 4) + 2 (t % 4) + i % 2.
#include "model/runtime/wgmma_product.h"

#include <cstring>

#include "model/runtime/fused_dot.h"
#include "model/runtime/text.h"
#include "model/runtime/wgmma_operand.h"

namespace fovea::model {

namespace {
struct Format {
  u32 k, bytes;
  Operand (*decode)(u32);
  FusedRule rule;
};

Format format_of(Wgmma op) {
  switch (op) {
    case Wgmma::k16_bf16:
      return {16, 2, operand_bf16, {25, 23, 1}};
    case Wgmma::k16_f16:
      return {16, 2, operand_f16, {25, 23, 1}};
    case Wgmma::k32_e4m3:
      return {32, 1, operand_e4m3, {13, 13, 1}};
  }
  return {};
}

u32 load_element(SharedMemory& smem, u32 address, u32 bytes) {
  u32 bits = 0;
  std::memcpy(&bits, smem.at(address - kSmemBase), bytes);
  return bits;
}

void check_descriptor(const Thread& self, const MatrixDescriptor& d, const char* operand) {
  if (d.reserved_bits) {
    self.fail(Code::illegal_argument, format("wgmma descriptor of %s has bits set that must be zero", operand));
  }
}

// Reads [first, first + count) rows of mn, whole 16-byte chunks at a time.
void check_tile(const Warp& w, const MatrixDescriptor& d, u32 first, u32 count, const Format& f, bool mn_major,
                const Access& access, const char* operand) {
  const Thread& self = w.lanes[0];
  check_descriptor(self, d, operand);
  const u32 mn_step = mn_major ? 16 / f.bytes : 1, k_step = mn_major ? 1 : 16 / f.bytes;
  for (u32 mn = first; mn < first + count; mn += mn_step) {
    for (u32 k = 0; k < f.k; k += k_step) {
      const u32 rank_bits = w.cta->rank << kRankShift;
      const u32 offset = self.own_offset(rank_bits | d.address(mn, k, f.bytes, mn_major), 16, 16, operand);
      self.read_shared(*w.cta, offset, 16, access, operand);
    }
  }
}
}  // namespace

void check_operands(Warp& w, const Product& product) {
  const Format f = format_of(product.op);
  const Thread& self = w.lanes[0];
  // What all lanes have observed through barriers: a lane's own unsynchronised writes are not its warpgroup's.
  OwnClock shared;
  shared.thread = shared.copies = shared.products = ~0U;
  const ClockBase* seen = nullptr;
  for (u32 l = 0; l < 32; ++l) {
    if (w.lanes[l].clock.base == seen) continue;
    shared.base = w.lanes[l].clock.base;
    seen = shared.base;
    Access access;
    access.clock = &shared;
    access.component = self.clock.products;
    access.epoch = product.group;
    access.slot = w.cta->cluster->threads / 32 + self.clock.products % kAgentSlots;
    access.async_proxy = true;
    if (!product.from_registers) {
      check_tile(w, MatrixDescriptor::decode(product.desc_a), w.index % 4 * 16, 16, f, product.trans_a, access,
                 "wgmma.mma_async (A)");
    }
    check_tile(w, MatrixDescriptor::decode(product.desc_b), 0, product.n, f, product.trans_b, access,
               "wgmma.mma_async (B)");
  }
}

void land_product(Cta& cta, u32 warpgroup, Product& product) {
  if (product.landed) return;
  for (Product& earlier : cta.warpgroups[warpgroup]->products) {
    if (&earlier == &product) break;
    if (earlier.accumulators == product.accumulators) land_product(cta, warpgroup, earlier);
  }
  product.landed = true;
  const Format f = format_of(product.op);
  const MatrixDescriptor desc_a = MatrixDescriptor::decode(product.desc_a);
  const MatrixDescriptor desc_b = MatrixDescriptor::decode(product.desc_b);
  std::vector<OperandRow> a(64), b(product.n);
  for (u32 n = 0; n < product.n; ++n) {
    for (u32 k = 0; k < f.k; ++k) {
      b[n].set(k, f.decode(load_element(*cta.smem, desc_b.address(n, k, f.bytes, product.trans_b), f.bytes)));
    }
  }
  const u32 per_reg = 4 / f.bytes;
  for (u32 m = 0; m < 64; ++m) {
    for (u32 k = 0; k < f.k; ++k) {
      u32 bits = 0;
      if (product.from_registers) {  // register r: rows + 8 (r % 2), k + 4 per_reg (r / 2)
        const u32 thread = m / 16 * 32 + m % 8 * 4 + k % (4 * per_reg) / per_reg;
        const u32 reg = m % 16 / 8 + 2 * (k / (4 * per_reg));
        bits = product.a[thread][reg] >> (8 * f.bytes * (k % per_reg)) & ((1U << (8 * f.bytes)) - 1U);
      } else {
        bits = load_element(*cta.smem, desc_a.address(m, k, f.bytes, product.trans_a), f.bytes);
      }
      a[m].set(k, f.decode(bits));
    }
  }
  for (u32 thread = 0; thread < 128; ++thread) {
    for (u32 i = 0; i < product.n / 2; ++i) {
      const u32 m = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
      const u32 n = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
      u32& d = product.accumulators->value[std::size_t{thread} * product.n / 2 + i];
      d = fused_dot_f32(a[m], b[n], f.k, product.scale_d ? d : 0, f.rule);
    }
  }
}

}  // namespace fovea::model
