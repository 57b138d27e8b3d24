// The table itself: name, group and change of every feature, and their number among the feature cases.
#include "cases/features.h"

#include <array>

#include "cases/generate.h"

namespace fovea::cases {
namespace {

constexpr std::array kFeatures{
    Feature{"plain", "plain", [](Case&) {}},
    Feature{"causal", "causal", [](Case& c) { c.causal = true; }},
    Feature{"window_left", "window_left", [](Case& c) { c.window_left = 11; }},
    Feature{"window_right", "window_right", [](Case& c) { c.window_right = 5; }},
    Feature{"window_diagonal", "window_left", [](Case& c) { c.window_left = c.window_right = 0; }},
    Feature{"window_huge", "window_left", [](Case& c) { c.window_left = std::int64_t{1} << 40; }},
    Feature{"q_offset", "offset", [](Case& c) { c.causal = true, c.q_offset = 13; }},
    Feature{"kv_offset", "offset", [](Case& c) { c.causal = true, c.kv_offset = 9; }},
    Feature{"both_offsets", "offset", [](Case& c) { c.window_left = 20, c.q_offset = 1000, c.kv_offset = 990; }},
    Feature{"more_queries", "length", [](Case& c) { c.seqlen_q = 83, c.seqlen_kv = 29, c.causal = true; }},
    Feature{"decode", "length", [](Case& c) { c.seqlen_q = 1, c.seqlen_kv = 517; }},
    Feature{"one_key", "length", [](Case& c) { c.seqlen_kv = 1; }},
    Feature{"no_keys", "length", [](Case& c) { c.seqlen_kv = 0; }},
    Feature{"no_queries", "length", [](Case& c) { c.seqlen_q = 0; }},
    Feature{"mqa", "heads", [](Case& c) { c.num_heads_q = 5, c.num_heads_kv = 1; }},
    Feature{"gqa_16", "heads", [](Case& c) { c.num_heads_q = 32, c.num_heads_kv = 2; }},
    Feature{"mha", "heads", [](Case& c) { c.num_heads_q = c.num_heads_kv = 3; }},
    Feature{"dim_odd", "dim", [](Case& c) { c.head_dim_qk = 37, c.head_dim_v = 37; }},
    Feature{"dim_one", "dim", [](Case& c) { c.head_dim_qk = 1, c.head_dim_v = 1; }},
    Feature{"dim_differs", "dim", [](Case& c) { c.head_dim_qk = 192, c.head_dim_v = 128; }},
    Feature{"dim_256", "dim", [](Case& c) { c.head_dim_qk = 256, c.head_dim_v = 255; }},
    Feature{"out_f32", "out", [](Case& c) { c.out_dtype = FOVEA_F32; }},
    Feature{"out_bf16", "out", [](Case& c) { c.out_dtype = FOVEA_BF16; }},
    Feature{"out_f16", "out", [](Case& c) { c.out_dtype = FOVEA_F16; }},
    Feature{"varlen", "q_layout", [](Case& c) { c.q_layout = c.kv_layout = Layout::varlen, c.rows_after = 3; }},
    Feature{"varlen_gaps", "q_layout",
            [](Case& c) {
              c.q_layout = c.kv_layout = Layout::varlen;
              c.lengths = Lengths::gaps;
              c.rows_before = 4;
            }},
    Feature{"varlen_q_only", "q_layout", [](Case& c) { c.q_layout = Layout::varlen, c.rows_before = 2; }},
    Feature{"varlen_kv_only", "kv_layout", [](Case& c) { c.kv_layout = Layout::varlen, c.rows_before = 2; }},
    Feature{"paged", "kv_layout", [](Case& c) { c.kv_layout = Layout::paged, c.seqused_kv = true; }},
    Feature{"paged_one", "kv_layout", [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 1; }},
    Feature{"paged_shared", "kv_layout",
            [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 7, c.shared_pages = true; }},
    Feature{"paged_one_page", "kv_layout", [](Case& c) { c.kv_layout = Layout::paged, c.page_size = 1000; }},
    Feature{"seqused_q", "seqused_q", [](Case& c) { c.seqused_q = true; }},
    Feature{"seqused_kv", "seqused_kv", [](Case& c) { c.seqused_kv = true; }},
    Feature{"scale", "scale", [](Case& c) { c.scale = 0.31F; }},
    Feature{"scale_negative", "scale", [](Case& c) { c.scale = -0.2F; }},
    Feature{"scale_zero", "scale", [](Case& c) { c.scale = 0.0F; }},
    Feature{"softcap", "softcap", [](Case& c) { c.softcap = 2.0F; }},
    Feature{"softcap_wide", "softcap", [](Case& c) { c.softcap = 50.0F; }},
    Feature{"sink", "sink", [](Case& c) { c.sink = Sink::random; }},
    Feature{"sink_infinite", "sink", [](Case& c) { c.sink = Sink::mixed; }},
    Feature{"mask_full", "mask", [](Case& c) { c.mask = Heads::q, c.mask_batch = true; }},
    Feature{"mask_shared", "mask", [](Case& c) { c.mask = Heads::one; }},
    Feature{"mask_kv_heads", "mask", [](Case& c) { c.mask = Heads::kv, c.mask_batch = true; }},
    Feature{"mask_keys", "mask", [](Case& c) { c.mask = Heads::one, c.mask_batch = true, c.mask_rows = false; }},
    Feature{"mask_view", "mask", [](Case& c) { c.mask = Heads::one, c.mask_rows = false, c.mask_expanded = true; }},
    Feature{"mask_sparse", "mask", [](Case& c) { c.mask = Heads::q, c.mask_density = 0.02F; }},
    Feature{"mask_none", "mask", [](Case& c) { c.mask = Heads::one, c.mask_density = 0.0F; }},
    Feature{"bias_full", "bias", [](Case& c) { c.bias = Heads::q, c.bias_batch = true; }},
    Feature{"bias_shared", "bias", [](Case& c) { c.bias = Heads::one, c.bias_dtype = FOVEA_BF16; }},
    Feature{"bias_kv_heads", "bias", [](Case& c) { c.bias = Heads::kv, c.bias_dtype = FOVEA_F16; }},
    Feature{"bias_keys", "bias", [](Case& c) { c.bias = Heads::q, c.bias_rows = false, c.bias_batch = true; }},
    Feature{"bias_view", "bias", [](Case& c) { c.bias = Heads::one, c.bias_expanded = true, c.bias_rows = false; }},
    Feature{"bias_minus_inf", "bias", [](Case& c) { c.bias = Heads::q, c.bias_minus_inf = 0.4F; }},
    Feature{"bhsd", "strides", [](Case& c) { c.strides = Strides::bhsd; }},
    Feature{"qkv", "strides", [](Case& c) { c.strides = Strides::qkv; }},
    Feature{"padded", "strides", [](Case& c) { c.strides = Strides::padded; }},
    Feature{"expanded", "strides", [](Case& c) { c.strides = Strides::expanded; }},
    Feature{"unaligned", "strides", [](Case& c) { c.strides = Strides::unaligned; }},
    Feature{"stride_d2", "strides", [](Case& c) { c.strides = Strides::stride_d2; }},
    Feature{"reversed", "strides", [](Case& c) { c.strides = Strides::reversed; }},
    Feature{"peaked", "values", [](Case& c) { c.values = Values::peaked; }},
    Feature{"equal", "values", [](Case& c) { c.values = Values::equal; }},
    Feature{"no_lse", "lse", [](Case& c) { c.lse = false; }},
    Feature{"splits_1", "splits", [](Case& c) { c.num_splits = 1; }},
    Feature{"splits_3", "splits", [](Case& c) { c.num_splits = 3; }},
    Feature{"splits_256", "splits", [](Case& c) { c.num_splits = 256; }},
    Feature{"batch_invariant", "batch_invariant", [](Case& c) { c.batch_invariant = true; }},
};

// Odd sizes; the dtype goes round with the index.
Case base_case(std::size_t index) {
  constexpr std::array kDtypes{FOVEA_F32, FOVEA_BF16, FOVEA_F16};
  Case c;
  c.seed = 100 + index;
  c.dtype = c.out_dtype = kDtypes[index % kDtypes.size()];
  c.batch = 3;
  c.seqlen_q = 37;
  c.seqlen_kv = 67;
  c.num_heads_q = 4;
  c.num_heads_kv = 2;
  c.head_dim_qk = c.head_dim_v = 48;
  return c;
}

}  // namespace

std::span<const Feature> features() { return kFeatures; }

std::size_t num_single_features() { return 3 * kFeatures.size(); }

std::vector<Case> feature_cases() {
  std::vector<Case> cases;
  for (const Feature& f : kFeatures) {
    for (int dtype = 0; dtype < 3; ++dtype) {
      cases.push_back(base_case(cases.size()));
      f.apply(cases.back());
    }
  }
  for (std::size_t i = 1; i < kFeatures.size(); ++i) {
    for (std::size_t j = i + 1; j < kFeatures.size(); ++j) {
      if (kFeatures[i].group == kFeatures[j].group) continue;
      cases.push_back(base_case(cases.size()));
      kFeatures[i].apply(cases.back());
      kFeatures[j].apply(cases.back());
    }
  }
  return cases;
}

}  // namespace fovea::cases
