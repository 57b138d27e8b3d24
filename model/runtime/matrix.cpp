// ldmatrix, stmatrix and movmatrix (PTX ISA, "Warp-level matrix load/store instruction", "movmatrix"). Lane l supplies
// the address of row l % 8 of matrix l / 8; element e of a register of lane t belongs to row t / 4, column 2 (t % 4) +
// e, or with .trans to row 2 (t % 4) + e, column t / 4.
#include <cstring>

#include "model/runtime/collective.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
struct MatrixOperands {
  u32 address;
  u32* out;
  const u32* in;
};

struct Element {
  u32 row, col;
};
Element element_of(u32 lane, u32 e, bool trans) {
  const u32 pair = 2 * (lane % 4) + e, group = lane / 4;
  return trans ? Element{pair, group} : Element{group, pair};
}

void count_banks(const u32* addresses, u32 count, Counters& counters) {
  for (u32 m = 0; m < count; ++m) {
    const BankUse use = bank_use(addresses + m * 8, 8, 16);
    counters.smem_wavefronts += use.wavefronts;
    counters.smem_bank_conflict_ways += use.conflicts;
  }
}
}  // namespace

void Thread::ldmatrix(u32* regs, u32 address, u32 count, bool trans) {
  MatrixOperands mine{address, regs, nullptr};
  collective(Collective::ldmatrix, count * 2 + (trans ? 1U : 0U), &mine, [count, trans](Warp& w) {
    Cta& home = *w.cta;
    u32 offset[32];
    for (u32 l = 0; l < count * 8; ++l) {
      const Thread& row = w.lanes[l];
      offset[l] = row.own_offset(operands_of<MatrixOperands>(w, l).address, 16, 16, "ldmatrix");
      row.read_shared(home, offset[l], 16, row.access(), "ldmatrix");
    }
    for (u32 l = 0; l < 32; ++l) {
      for (u32 m = 0; m < count; ++m) {
        u16 half[2];
        for (u32 e = 0; e < 2; ++e) {
          const Element at = element_of(l, e, trans);
          std::memcpy(&half[e], home.smem->at(offset[m * 8 + at.row] + at.col * 2), 2);
        }
        operands_of<MatrixOperands>(w, l).out[m] = half[0] | (u32{half[1]} << 16U);
      }
    }
    count_banks(offset, count, home.machine->counters);
    ++home.machine->counters.ldmatrix;
    return true;
  });
}

void Thread::stmatrix(u32 address, const u32* regs, u32 count, bool trans) {
  need_sm(90, "stmatrix");
  MatrixOperands mine{address, nullptr, regs};
  for (u32 m = 0; m < count; ++m) need_defined(regs[m], "stmatrix", "r");
  collective(Collective::stmatrix, count * 2 + (trans ? 1U : 0U), &mine, [count, trans](Warp& w) {
    Cta& home = *w.cta;
    u32 offset[32];
    for (u32 l = 0; l < count * 8; ++l) {
      const Thread& row = w.lanes[l];
      offset[l] = row.own_offset(operands_of<MatrixOperands>(w, l).address, 16, 16, "stmatrix");
      row.write_shared(home, offset[l], 16, row.access(), "stmatrix");
    }
    for (u32 l = 0; l < 32; ++l) {
      for (u32 m = 0; m < count; ++m) {
        const u32 reg = operands_of<MatrixOperands>(w, l).in[m];
        for (u32 e = 0; e < 2; ++e) {
          const Element at = element_of(l, e, trans);
          const u16 half = static_cast<u16>(reg >> (16 * e));
          std::memcpy(home.smem->at(offset[m * 8 + at.row] + at.col * 2), &half, 2);
        }
      }
    }
    count_banks(offset, count, home.machine->counters);
    ++home.machine->counters.stmatrix;
    return true;
  });
}

u32 Thread::movmatrix(u32 value) {
  need_defined(value, "movmatrix", "a");
  struct Operands {
    u32 in, out;
  } mine{value, 0};
  collective(Collective::movmatrix, 0, &mine, [](Warp& w) {
    for (u32 l = 0; l < 32; ++l) {
      u32 out = 0;
      for (u32 e = 0; e < 2; ++e) {
        const Element from = element_of(l, e, true);  // element [row][col] sits in lane 4 row + col / 2
        const u32 in = operands_of<Operands>(w, 4 * from.row + from.col / 2).in;
        out |= ((in >> (16 * (from.col % 2))) & 0xffffU) << (16 * e);
      }
      operands_of<Operands>(w, l).out = out;
    }
    return true;
  });
  return mine.out;
}

}  // namespace fovea::model
