// Small cases around the edges of GPU tiles: enough for every branch of a kernel, small enough for the functional
// model.
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

// Mask and bias rows that kernels read in whole vectors.
void whole_rows(Case& c) { c.seqlen_kv = (c.seqlen_kv + 15) / 16 * 16; }

// Masks of keys, of which so few are seen that whole blocks are hidden.
void few_keys(Case& c) {
  c.seqlen_kv *= 8;
  whole_rows(c);
  c.mask_rows = false, c.mask_density = 0.004F;
}

// Biases of the dtype of q, over several blocks of keys.
void long_bias(Case& c, Heads heads) {
  c.seqlen_kv *= 4;
  whole_rows(c);
  c.bias = heads, c.bias_dtype = c.dtype;
}

// Head dims of which fwd_wgmma has 64 keys in a step, over several of these. Few heads, for the model's time.
void wide_heads(Case& c) {
  c.head_dim_qk = c.head_dim_v = 256;
  c.seqlen_kv *= 3;
  c.batch = 1, c.num_heads_q = 2, c.num_heads_kv = 1;
}

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
    {2, [](Case& c) { c.values = Values::special, c.causal = true; }},
    {2, [](Case& c) { c.values = Values::special, c.window_left = 20, c.window_right = 9, c.sink = Sink::random; }},
    {2, [](Case& c) { c.mask = Heads::one, whole_rows(c); }},
    {2, [](Case& c) { c.mask = Heads::q, c.mask_density = 0.02F, c.values = Values::special, whole_rows(c); }},
    {2, [](Case& c) { c.mask = Heads::kv, c.mask_density = 0.0F, whole_rows(c); }},
    {2, [](Case& c) { c.mask = Heads::one, c.mask_density = 1.0F, c.causal = true, whole_rows(c); }},
    {2, [](Case& c) { c.bias = Heads::one, c.bias_dtype = c.dtype, c.bias_minus_inf = 0.3F, whole_rows(c); }},
    {1, [](Case& c) { c.bias = Heads::q, c.mask = Heads::one, c.softcap = 3.0F, c.causal = true, whole_rows(c); }},
    {1, [](Case& c) { c.mask = Heads::q, c.values = Values::special; }},
    {1, [](Case& c) { c.bias = Heads::kv, c.bias_dtype = FOVEA_BF16, c.bias_minus_inf = 0.3F, c.scale = -0.3F; }},
    {3, [](Case& c) { c.strides = Strides::unaligned, c.causal = true; }},
    {1, [](Case& c) { c.head_dim_qk = 63, c.head_dim_v = 41; }},
    {1, [](Case& c) { c.head_dim_qk = 36, c.head_dim_v = 52, c.values = Values::special, c.causal = true; }},
    {2, [](Case& c) { c.q_layout = c.kv_layout = Layout::varlen, c.rows_before = 3, c.rows_after = 2, c.batch = 3; }},
    {2, [](Case& c) { c.q_layout = Layout::varlen, c.lengths = Lengths::gaps, c.batch = 5, c.causal = true; }},
    {2, [](Case& c) { c.kv_layout = Layout::paged, c.seqused_kv = true, c.causal = true; }},
    {2, [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 64, c.shared_pages = true, c.window_left = 70; }},
    {2,
     [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 256, c.seqused_kv = true, c.values = Values::special; }},
    {1, [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 7, c.shared_pages = true, c.num_splits = 3; }},
    {2, [](Case& c) { c.num_splits = 4, c.causal = true, c.sink = Sink::mixed; }},
    {2, [](Case& c) { c.num_splits = 2, c.values = Values::special, c.window_left = 33; }},
    {1, [](Case& c) { c.seqlen_q = 1, c.num_heads_q = 7, c.num_heads_kv = 1, c.seqused_kv = true, c.num_splits = 3; }},
    {1,
     [](Case& c) { c.seqlen_q = 5, c.num_heads_q = 12, c.num_heads_kv = 3, c.causal = true, c.sink = Sink::random; }},
    {1, [](Case& c) { c.seqlen_q = 3, c.num_heads_q = 8, c.num_heads_kv = 2, c.kv_layout = Layout::paged; }},
    {1, [](Case& c) { c.seqlen_q = 4, c.num_heads_q = 6, c.num_heads_kv = 3, c.mask = Heads::q, c.bias = Heads::one; }},
    {1, [](Case& c) { c.batch_invariant = true, c.causal = true; }},
    {2, [](Case& c) { few_keys(c), c.mask = Heads::q; }},
    {2, [](Case& c) { few_keys(c), c.mask = Heads::kv, c.values = Values::special, c.causal = true; }},
    {2,
     [](Case& c) {
       long_bias(c, Heads::q);
       c.bias_batch = true, c.bias_minus_inf = 0.3F, c.values = Values::special, c.causal = true;
     }},
    {2, [](Case& c) { long_bias(c, Heads::kv), c.bias_rows = false, c.window_left = 70, c.scale = -0.3F; }},
    {2, [](Case& c) { few_keys(c), c.mask = Heads::one, c.bias = Heads::q, c.bias_dtype = c.dtype; }},
    {2,
     [](Case& c) {
       long_bias(c, Heads::one);
       c.mask = Heads::q, c.mask_density = 0.5F, c.values = Values::special, c.causal = true, c.scale = -0.3F;
     }},
    {2, [](Case& c) { few_keys(c), c.softcap = 3.0F, c.mask_rows = true, c.mask_density = 0.1F, c.mask = Heads::one; }},
    {2,
     [](Case& c) {  // narrower than the tiles, packed: output leaves from registers
       few_keys(c), c.mask = Heads::one, c.bias = Heads::one, c.bias_dtype = c.dtype;
       c.head_dim_qk -= 24, c.head_dim_v -= 24;
       c.q_layout = c.kv_layout = Layout::varlen, c.rows_before = 3, c.rows_after = 2, c.batch = 3;
     }},
    {1,
     [](Case& c) {
       c.head_dim_qk = 192, c.head_dim_v = 120, c.batch = 3;
       c.q_layout = c.kv_layout = Layout::varlen, c.rows_before = 3, c.rows_after = 2;
     }},
    {1, [](Case& c) { few_keys(c), c.softcap = 3.0F, c.mask = Heads::one, c.bias = Heads::q, c.bias_dtype = c.dtype; }},
    {1, [](Case& c) { long_bias(c, Heads::q), c.softcap = 5.0F, c.bias_minus_inf = 0.3F, c.causal = true; }},
    {1, [](Case& c) { long_bias(c, Heads::one), c.q_layout = c.kv_layout = Layout::varlen, c.batch = 3; }},
    {1, [](Case& c) { long_bias(c, Heads::q), c.kv_layout = Layout::paged, c.seqused_kv = true; }},
    {4, [](Case& c) { c.num_heads_q = 8, c.num_heads_kv = 1, c.causal = true, c.sink = Sink::random; }},
    {4, [](Case& c) { c.num_heads_q = 8, c.num_heads_kv = 2, c.window_left = 40, c.seqused_q = true; }},
    {2, [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 96, c.seqlen_kv *= 2, c.seqused_kv = true; }},
    {2, [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 48, c.shared_pages = true, c.causal = true; }},
    {1,
     [](Case& c) {
       c.dtype = c.out_dtype = FOVEA_F16;
       long_bias(c, Heads::q);
       c.bias_minus_inf = 0.3F, c.values = Values::special;
     }},
    {1, [](Case& c) { long_bias(c, Heads::kv), c.bias_minus_inf = 0.3F, c.mask = Heads::one, c.scale = 0.0F; }},
    {1,
     [](Case& c) {
       wide_heads(c), c.seqlen_kv |= 1, c.mask = Heads::q, c.mask_density = 0.01F, c.values = Values::special;
     }},
    {1,
     [](Case& c) {
       wide_heads(c), whole_rows(c);
       c.bias = Heads::q, c.bias_dtype = c.dtype, c.bias_minus_inf = 0.3F, c.values = Values::special, c.causal = true;
     }},
    {1,
     [](Case& c) {
       wide_heads(c), whole_rows(c);
       c.mask = Heads::one, c.mask_density = 0.02F, c.bias = Heads::q, c.bias_dtype = c.dtype, c.window_left = 70;
     }},
    // Biases whose rows begin anywhere, and of fp32.
    {2,
     [](Case& c) {
       long_bias(c, Heads::q), c.seqlen_kv -= 1;
       c.bias_minus_inf = 0.3F, c.values = Values::special, c.causal = true;
     }},
    {2,
     [](Case& c) {
       long_bias(c, Heads::kv), c.seqlen_kv -= 3;
       c.mask = Heads::one, c.mask_density = 0.05F, c.bias_batch = true, c.window_left = 90;
     }},
    {1,
     [](Case& c) {
       long_bias(c, Heads::one), c.bias_dtype = FOVEA_F32, c.seqlen_kv -= 1;
       c.bias_minus_inf = 0.3F, c.values = Values::special, c.seqused_kv = true;
     }},
    {1,
     [](Case& c) {
       long_bias(c, Heads::one), c.bias_rows = false, c.seqlen_kv -= 5, c.bias_minus_inf = 0.1F;
       c.mask = c.seed % 3 == 0 ? Heads::q : Heads::none, c.bias_dtype = c.seed % 2 == 0 ? FOVEA_F32 : c.dtype;
     }},
    {1,
     [](Case& c) {  // softcap: fwd_mma takes its kernel for everything then, and needs none of its own
       wide_heads(c), c.seqlen_kv |= 1, c.bias = Heads::kv, c.bias_dtype = c.dtype, c.causal = true, c.softcap = 5.0F;
     }},
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
