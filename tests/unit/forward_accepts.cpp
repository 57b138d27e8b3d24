// Calls at the edge of what is legal: validation must not be stricter than the contract.
#include <gtest/gtest.h>

#include "unit/forward_case.h"

namespace fovea::test {
namespace {

struct AcceptRow {
  const char* name;
  void (*bend)(ForwardCase&);
};

using C = ForwardCase;
constexpr std::int64_t kHuge = std::int64_t{1} << 40;

const AcceptRow kAccepted[] = {
    {"plain", [](C&) {}},
    {"no_lse", [](C& c) { c.args.lse = {}; }},
    {"varlen_q", [](C& c) { c.make_varlen_q(); }},
    {"varlen_both_with_gaps",
     [](C& c) {
       c.make_varlen_q({1, 1, 5}), c.make_varlen_kv({2, 2, 9});
     }},
    {"paged", [](C& c) { c.make_paged(); }},
    {"paged_varlen_q", [](C& c) { c.make_varlen_q(), c.make_paged(); }},
    {"paged_unneeded_entries_wild",
     [](C& c) {
       c.make_paged({4, 0}, {4, 0, -7, 99, 99, 99});
     }},
    {"seqused",
     [](C& c) {
       c.set_seqused_q({0, 3}), c.set_seqused_kv({5, 0});
     }},
    {"mask_full",
     [](C& c) {
       c.set_mask({2, 4, 3, 5});
     }},
    {"mask_kv_heads",
     [](C& c) {
       c.set_mask({1, 2, 1, 5});
     }},
    {"mask_longer_than_varlen",
     [](C& c) {
       c.make_varlen_kv(), c.set_mask({1, 1, 3, 9});
     }},
    {"bias_broadcast",
     [](C& c) {
       c.set_bias({2, 1, 1, 5});
     }},
    {"mask_stride_zero",
     [](C& c) {
       c.set_mask({1, 1, 1, 5}), c.args.mask.shape[2] = 3, c.args.mask.strides[2] = 0;
     }},
    {"sink", [](C& c) { c.set_sink({4}); }},
    {"window_zero", [](C& c) { c.args.flags = FOVEA_FLAG_WINDOW_LEFT | FOVEA_FLAG_WINDOW_RIGHT; }},
    {"window_largest", [](C& c) { c.args.flags = FOVEA_FLAG_WINDOW_LEFT, c.args.window_left = kHuge; }},
    {"offset_largest", [](C& c) { c.args.flags = FOVEA_FLAG_Q_OFFSET, c.args.q_offset = -kHuge; }},
    {"scale_zero", [](C& c) { c.args.flags = FOVEA_FLAG_SOFTMAX_SCALE; }},
    {"scale_negative", [](C& c) { c.args.flags = FOVEA_FLAG_SOFTMAX_SCALE, c.args.softmax_scale = -2.0F; }},
    {"k_stride_zero", [](C& c) { c.args.k.strides[1] = 0; }},
    {"k_is_v", [](C& c) { c.args.v = c.args.k, c.args.v.shape[3] = 6; }},
    {"q_is_k_memory", [](C& c) { c.args.k.data = c.q.data(); }},
    {"out_permuted", [](C& c) { c.args.out.strides[1] = 6, c.args.out.strides[2] = 18; }},
    {"out_negative_stride", [](C& c) { c.args.out.data = c.out.data() + 72, c.args.out.strides[0] = -72; }},
    {"lse_permuted", [](C& c) { c.args.lse.strides[1] = 1, c.args.lse.strides[2] = 4; }},
    {"strided_head_dim",
     [](C& c) { c.args.q.shape[3] = c.args.k.shape[3] = 4, c.args.q.strides[3] = c.args.k.strides[3] = 2; }},
    {"head_dim_one_any_stride",
     [](C& c) {
       c.args.flags = FOVEA_FLAG_FORBID_SLOW;
       c.args.q.shape[3] = c.args.k.shape[3] = 1, c.args.q.strides[3] = 5;
     }},
    {"stride_of_unit_extent_is_free",
     [](C& c) {
       c.args.mask = {}, c.set_bias({1, 1, 1, 5}), c.args.bias.strides[0] = INT64_MAX;
     }},
    {"splits_most", [](C& c) { c.args.num_splits = 256; }},
    {"batch_zero",
     [](C& c) {
       c.args.q.shape[0] = c.args.k.shape[0] = c.args.v.shape[0] = c.args.out.shape[0] = c.args.lse.shape[0] = 0;
       c.args.q.data = c.args.k.data = c.args.v.data = c.args.out.data = c.args.lse.data = nullptr;
     }},
    {"seqlen_q_zero",
     [](C& c) { c.args.q.shape[1] = c.args.out.shape[1] = c.args.lse.shape[2] = 0, c.args.out.data = nullptr; }},
    {"heads_zero",
     [](C& c) {
       c.args.q.shape[2] = c.args.k.shape[2] = c.args.v.shape[2] = c.args.out.shape[2] = c.args.lse.shape[1] = 0;
     }},
    {"seqlen_kv_zero",
     [](C& c) { c.args.k.shape[1] = c.args.v.shape[1] = 0, c.args.k.data = c.args.v.data = nullptr; }},
};

class ForwardAccepts : public testing::TestWithParam<AcceptRow> {};

TEST_P(ForwardAccepts, call) {
  const ContextPtr context = make_context();
  ForwardCase c;
  GetParam().bend(c);
  EXPECT_EQ(c.supports(context.get()), FOVEA_OK) << c.error.asked << " | " << c.error.allowed;
  EXPECT_TRUE(c.outputs_untouched()) << "fovea_supports() wrote";
  EXPECT_EQ(c.forward(context.get()), FOVEA_OK) << c.error.asked << " | " << c.error.allowed;
}

INSTANTIATE_TEST_SUITE_P(All, ForwardAccepts, testing::ValuesIn(kAccepted),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ForwardAccepts, extents_past_65535_and_large_strides) {
  // One row of memory seen 100,000 times: batch, heads and length each exceed 16 bits without storage.
  const ContextPtr context = make_context();
  ForwardCase c;
  for (const int dim : {0, 1, 2}) {
    fovea_forward_args a = c.args;
    a.lse = {};
    for (fovea_tensor* t : {&a.q, &a.k, &a.v}) {
      for (int d = 0; d < 3; ++d) t->shape[d] = d == dim ? 100'000 : 1, t->strides[d] = 0;
    }
    a.out = view(nullptr, FOVEA_F32, {a.q.shape[0], a.q.shape[1], a.q.shape[2], 6});
    std::vector<float> out(600'000);
    a.out.data = out.data();
    EXPECT_EQ(fovea_supports(context.get(), &a, &c.error), FOVEA_OK) << "dim " << dim << ": " << c.error.asked;
  }
}

}  // namespace
}  // namespace fovea::test
