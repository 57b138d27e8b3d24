// Small cases around the edges of GPU tiles, in the layouts that GPU kernels move 16 bytes at a time: enough for every
// branch of a kernel, small enough for the functional model.
#include "cases/generate.h"

namespace fovea::cases {
namespace {

struct Lengths2 {
  std::int64_t q, kv;
};
constexpr Lengths2 kLengths[] = {{1, 1}, {1, 77}, {16, 64}, {64, 64}, {65, 63}, {100, 129}, {129, 191}, {130, 40}};

struct Heads2 {
  std::int64_t q, kv;
};
constexpr Heads2 kHeads[] = {{1, 1}, {2, 1}, {3, 3}, {4, 2}};

struct Dims {
  std::int64_t qk, v;
};
constexpr Dims kDims[] = {{64, 64}, {128, 128}, {40, 40}, {96, 64}, {192, 128}, {256, 256}, {8, 8}};

constexpr void (*kRules[])(Case&) = {
    [](Case&) {},
    [](Case& c) { c.causal = true; },
    [](Case& c) { c.window_left = 11, c.window_right = 5; },
    [](Case& c) { c.causal = true, c.window_left = 40; },
    [](Case& c) { c.causal = true, c.q_offset = 13; },
    [](Case& c) { c.window_right = 3, c.kv_offset = 20; },
    [](Case& c) { c.softcap = 5.0F, c.causal = true; },
    [](Case& c) { c.sink = Sink::random; },
    [](Case& c) { c.sink = Sink::mixed, c.causal = true; },
    [](Case& c) { c.scale = -0.2F; },
    [](Case& c) { c.scale = 0.0F, c.causal = true; },
    [](Case& c) { c.out_dtype = FOVEA_F32, c.causal = true; },
    [](Case& c) { c.lse = false; },
    [](Case& c) { c.strides = Strides::bhsd; },
    [](Case& c) { c.strides = Strides::qkv, c.causal = true; },
    [](Case& c) { c.values = Values::peaked; },
};

}  // namespace

// Each rule meets every pair of lengths; head counts, head dims and dtypes take turns of coprime length, so that they
// meet in every combination over the list.
std::vector<Case> kernel_cases() {
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const auto rule : kRules) {
    for (const Lengths2 lengths : kLengths) {
      Case c;
      c.seed = 1000 + turn;
      c.dtype = c.out_dtype = turn % 2 == 0 ? FOVEA_BF16 : FOVEA_F16;
      c.batch = 1 + static_cast<std::int64_t>(turn % 3 == 2);
      c.seqlen_q = lengths.q, c.seqlen_kv = lengths.kv;
      const Heads2 heads = kHeads[turn % std::size(kHeads)];
      c.num_heads_q = heads.q, c.num_heads_kv = heads.kv;
      const Dims dims = kDims[(turn / 3) % std::size(kDims)];
      c.head_dim_qk = dims.qk, c.head_dim_v = dims.v;
      rule(c);
      cases.push_back(c);
      turn += 1;
    }
  }
  return cases;
}

}  // namespace fovea::cases
