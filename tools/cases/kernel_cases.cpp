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

// Head dims and dtype together: one kernel each, so that few kernels serve the list.
struct Kind {
  fovea_dtype dtype;
  std::int64_t qk, v;
};
constexpr Kind kKinds[] = {{FOVEA_BF16, 64, 64}, {FOVEA_F16, 128, 128},  {FOVEA_BF16, 40, 40},
                           {FOVEA_F16, 96, 64},  {FOVEA_BF16, 192, 128}, {FOVEA_F16, 256, 256},
                           {FOVEA_F16, 64, 64},  {FOVEA_BF16, 128, 128}, {FOVEA_BF16, 8, 8}};

// A rule whose kernels differ from the plain ones keeps to the first `kinds` kinds.
struct Rule {
  std::size_t kinds;
  void (*apply)(Case&);
};
constexpr Rule kRules[] = {
    {9, [](Case&) {}},
    {9, [](Case& c) { c.causal = true; }},
    {9, [](Case& c) { c.window_left = 11, c.window_right = 5; }},
    {9, [](Case& c) { c.causal = true, c.window_left = 40; }},
    {9, [](Case& c) { c.causal = true, c.q_offset = 13; }},
    {9, [](Case& c) { c.window_right = 3, c.kv_offset = 20; }},
    {9, [](Case& c) { c.seqused_kv = true, c.causal = true; }},
    {9, [](Case& c) { c.seqused_q = true, c.seqused_kv = true, c.window_left = 30; }},
    {2, [](Case& c) { c.softcap = 5.0F, c.causal = true; }},
    {2, [](Case& c) { c.scale = -0.2F; }},
    {2, [](Case& c) { c.scale = 0.0F, c.causal = true; }},
    {2, [](Case& c) { c.out_dtype = FOVEA_F32, c.causal = true; }},
    {9, [](Case& c) { c.sink = Sink::random; }},
    {9, [](Case& c) { c.sink = Sink::mixed, c.causal = true; }},
    {9, [](Case& c) { c.lse = false; }},
    {9, [](Case& c) { c.strides = Strides::bhsd; }},
    {9, [](Case& c) { c.strides = Strides::qkv, c.causal = true; }},
    {9, [](Case& c) { c.values = Values::peaked; }},
};

}  // namespace

// Each rule meets every pair of lengths; kinds and head counts take turns.
std::vector<Case> kernel_cases() {
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const Rule& rule : kRules) {
    for (const Lengths2 lengths : kLengths) {
      const Kind& kind = kKinds[turn % rule.kinds];
      const Heads2 heads = kHeads[(turn / 3) % std::size(kHeads)];
      Case c;
      c.seed = 1000 + turn;
      c.dtype = c.out_dtype = kind.dtype;
      c.batch = 1 + static_cast<std::int64_t>(turn % 3 == 2);
      c.seqlen_q = lengths.q, c.seqlen_kv = lengths.kv;
      c.num_heads_q = heads.q, c.num_heads_kv = heads.kv;
      c.head_dim_qk = kind.qk, c.head_dim_v = kind.v;
      rule.apply(c);
      cases.push_back(c);
      turn += 1;
    }
  }
  return cases;
}

}  // namespace fovea::cases
