// mma.sync (PTX ISA, "Matrix Fragments for mma.m16n8k16", ".m16n8k8", ".m16n8k32"). Rows of A and D: lane / 4 and 8
// more; columns of D: 2 (lane % 4) and the next; k runs through the elements of a register, then the lanes of a quad.
#include <cmath>

#include "model/runtime/collective.h"
#include "model/runtime/fused_dot.h"
#include "model/runtime/text.h"

namespace fovea::model {

namespace {
struct Shape {
  u32 k, element_bits, a_regs, b_regs, c_regs;
  Operand (*decode)(u32);
  const char* name;
};

Shape shape_of(Mma op) {
  switch (op) {
    case Mma::k16_bf16:
      return {16, 16, 4, 2, 4, operand_bf16, "mma.m16n8k16.f32.bf16"};
    case Mma::k16_f16:
      return {16, 16, 4, 2, 4, operand_f16, "mma.m16n8k16.f32.f16"};
    case Mma::k8_bf16:
      return {8, 16, 2, 1, 4, operand_bf16, "mma.m16n8k8.f32.bf16"};
    case Mma::k8_f16:
      return {8, 16, 2, 1, 4, operand_f16, "mma.m16n8k8.f32.f16"};
    case Mma::k16_f16_acc16:
      return {16, 16, 4, 2, 2, operand_f16, "mma.m16n8k16.f16.f16"};
    case Mma::k8_tf32:
      return {8, 32, 4, 2, 4, operand_tf32, "mma.m16n8k8.f32.tf32"};
    case Mma::k32_e4m3:
      return {32, 8, 4, 2, 4, operand_e4m3, "mma.m16n8k32.f32.e4m3"};
  }
  return {};
}

// SM80, 86 and 89 sum half the K of a k16 (16-bit), k8 (tf32) or k32 (8-bit) instruction at a time; later ones all.
FusedRule rule_of(int sm, Mma op) {
  const bool half_k = op == Mma::k8_bf16 || op == Mma::k8_f16;
  if (sm < 90) return {op == Mma::k32_e4m3 ? 13 : 24, op == Mma::k32_e4m3 ? 13 : 23, half_k ? 1U : 2U};
  return {25, 23, 1};
}

// k32 with e4m3 on SM90 is expanded by the compiler: the bytes are widened to f16, one k16 product sums k % 4 in {0,
// 1}, a second one adds those of k % 4 in {2, 3} to it, and C comes in by an ordinary addition. Measured on an H100.
bool is_expanded(int sm, Mma op) { return op == Mma::k32_e4m3 && sm == 90; }

struct Expanded {
  OperandRow half[2];

  explicit Expanded(const OperandRow& whole) {
    for (u32 k = 0; k < 32; ++k) {
      half[k % 4 / 2].set(k / 4 * 2 + k % 2, {whole.value[k], whole.exponent[k], std::isnan(whole.value[k])});
    }
  }
};

u32 expanded_dot(const OperandRow& row, const OperandRow& col, u32 c, const FusedRule& rule) {
  const Expanded a(row), b(col);
  const u32 first = fused_dot_f32(a.half[0], b.half[0], 16, 0, rule);
  const u32 both = fused_dot_f32(a.half[1], b.half[1], 16, first, rule);
  const f32 sum = f32_from_bits(both) + f32_from_bits(c);
  return std::isnan(sum) ? 0x7fffffffU : f32_bits(sum);
}

struct MmaOperands {
  const u32 *a, *b, *c;
  u32* d;
};

void multiply(const Warp& w, Mma op) {
  const Shape shape = shape_of(op);
  const int sm = w.cta->machine->config.sm;
  const FusedRule rule = rule_of(sm, op);
  const u32 per_reg = 32 / shape.element_bits;
  const u32 mask = shape.element_bits == 32 ? ~0U : (1U << shape.element_bits) - 1U;
  const u32 k_half = per_reg * 4;  // k of the first registers of a row
  OperandRow a[16], b[8];
  for (u32 lane = 0; lane < 32; ++lane) {
    const MmaOperands& in = operands_of<MmaOperands>(w, lane);
    const u32 group = lane / 4, quad = lane % 4;
    for (u32 e = 0; e < per_reg; ++e) {
      const u32 k = quad * per_reg + e, shift = e * shape.element_bits;
      for (u32 r = 0; r < shape.a_regs; ++r) {
        a[group + 8 * (r & 1U)].set(k + k_half * (r >> 1U), shape.decode((in.a[r] >> shift) & mask));
      }
      for (u32 r = 0; r < shape.b_regs; ++r) b[group].set(k + k_half * r, shape.decode((in.b[r] >> shift) & mask));
    }
  }
  for (u32 lane = 0; lane < 32; ++lane) {
    const MmaOperands& out = operands_of<MmaOperands>(w, lane);
    u32 d[4];
    for (u32 r = 0; r < 4; ++r) {
      const OperandRow& row = a[lane / 4 + 8 * (r >> 1U)];
      const OperandRow& col = b[2 * (lane % 4) + (r & 1U)];
      d[r] = is_expanded(sm, op) ? expanded_dot(row, col, out.c[r], rule)
             : shape.c_regs == 4 ? fused_dot_f32(row, col, shape.k, out.c[r], rule)
                                 : fused_dot_f16(row, col, shape.k, (out.c[r / 2] >> (16 * (r % 2))) & 0xffffU, rule);
    }
    for (u32 r = 0; r < shape.c_regs; ++r) out.d[r] = shape.c_regs == 4 ? d[r] : d[2 * r] | (d[2 * r + 1] << 16U);
  }
}
}  // namespace

void Thread::mma(Mma op, const u32* a, const u32* b, const u32* c, u32* d) {
  const Shape shape = shape_of(op);
  if (op == Mma::k32_e4m3) need_sm(89, shape.name);
  if (op == Mma::k32_e4m3 && machine->config.sm == 100) {
    fail(Code::architecture, format("%s on sm_100 is a compiler expansion whose rounding is not known", shape.name));
  }
  for (u32 r = 0; r < shape.a_regs; ++r) need_defined(a[r], shape.name, "a");
  for (u32 r = 0; r < shape.b_regs; ++r) need_defined(b[r], shape.name, "b");
  for (u32 r = 0; r < shape.c_regs; ++r) need_defined(c[r], shape.name, "c (the accumulator)");
  MmaOperands mine{a, b, c, d};
  collective(Collective::mma, static_cast<u32>(op), &mine, [op](Warp& w) {
    multiply(w, op);
    ++w.cta->machine->counters.mma;
    return true;
  });
}

}  // namespace fovea::model
