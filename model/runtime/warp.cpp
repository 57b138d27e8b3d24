// shfl.sync, vote.sync, redux.sync and elect.sync over all lanes (PTX ISA, sections of these names).
#include "model/runtime/collective.h"

namespace fovea::model {

namespace {
struct ValueOperands {
  u32 value, operand, result;
};

// The lane whose value a lane receives; one outside the warp means its own.
u32 source_lane(Shfl mode, u32 lane, u32 operand) {
  const u32 b = operand & 31U;
  switch (mode) {
    case Shfl::bfly:
      return lane ^ b;
    case Shfl::idx:
      return b;
    case Shfl::up:
      return lane >= b ? lane - b : lane;
    case Shfl::down:
      return lane + b < 32 ? lane + b : lane;
  }
  return lane;
}

u32 combine(Redux op, u32 a, u32 b) {
  const auto less = [](u32 x, u32 y) { return static_cast<i32>(x) < static_cast<i32>(y); };
  switch (op) {
    case Redux::add:
      return a + b;
    case Redux::min_u32:
      return a < b ? a : b;
    case Redux::max_u32:
      return a < b ? b : a;
    case Redux::min_i32:
      return less(a, b) ? a : b;
    case Redux::max_i32:
      return less(a, b) ? b : a;
    case Redux::and_b32:
      return a & b;
    case Redux::or_b32:
      return a | b;
    case Redux::xor_b32:
      return a ^ b;
  }
  return a;
}
}  // namespace

u32 Thread::shfl(Shfl mode, u32 value, u32 operand) {
  need_defined(value, "shfl.sync", "a");
  ValueOperands mine{value, operand, 0};
  collective(Collective::shfl, static_cast<u32>(mode), &mine, [mode](Warp& w) {
    for (u32 l = 0; l < 32; ++l) {
      auto& to = operands_of<ValueOperands>(w, l);
      to.result = operands_of<ValueOperands>(w, source_lane(mode, l, to.operand)).value;
    }
    return true;
  });
  return mine.result;
}

u32 Thread::vote(Vote mode, bool predicate) {
  ValueOperands mine{predicate ? 1U : 0U, 0, 0};
  collective(Collective::vote, static_cast<u32>(mode), &mine, [mode](Warp& w) {
    u32 ballot = 0;
    for (u32 l = 0; l < 32; ++l) ballot |= operands_of<ValueOperands>(w, l).value << l;
    const u32 result = mode == Vote::ballot ? ballot : mode == Vote::any ? u32{ballot != 0} : u32{ballot == ~0U};
    for (u32 l = 0; l < 32; ++l) operands_of<ValueOperands>(w, l).result = result;
    return true;
  });
  return mine.result;
}

u32 Thread::redux(Redux op, u32 value) {
  need_defined(value, "redux.sync", "src");
  ValueOperands mine{value, 0, 0};
  collective(Collective::redux, static_cast<u32>(op), &mine, [op](Warp& w) {
    u32 all = operands_of<ValueOperands>(w, 0).value;
    for (u32 l = 1; l < 32; ++l) all = combine(op, all, operands_of<ValueOperands>(w, l).value);
    for (u32 l = 0; l < 32; ++l) operands_of<ValueOperands>(w, l).result = all;
    return true;
  });
  return mine.result;
}

// Which lane is elected is not specified; hardware was seen to take the lowest of the mask, and so does the model.
bool Thread::elect_sync() {
  need_sm(90, "elect.sync");
  collective(Collective::elect, 0, nullptr, [](Warp&) { return true; });
  return lane == 0;
}

}  // namespace fovea::model
