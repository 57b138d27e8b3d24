// Properties over the set of keys: order does not matter, parts can be merged, a constant added to every score shows in
// lse alone, shared heads are repeated heads.
#include <algorithm>
#include <numeric>
#include <random>

#include "property_support.h"

namespace fovea::property {
namespace {

RC_GTEST_FIXTURE_PROP(Property, OrderOfKeysDoesNotMatter, ()) {
  const Case c = draw_case();
  const Instance sorted(c);
  Instance permuted(c);
  std::vector<std::int64_t> order(static_cast<std::size_t>(c.seqlen_kv));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(c.seed));
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t j = 0; j < c.seqlen_kv; ++j) {
      const std::int64_t from = order[static_cast<std::size_t>(j)];
      for (std::int64_t h = 0; h < c.num_heads_kv; ++h) {
        for (std::int64_t d = 0; d < c.head_dim_qk; ++d) permuted.set_k(b, j, h, d, sorted.k(b, from, h, d));
        for (std::int64_t d = 0; d < c.head_dim_v; ++d) permuted.set_v(b, j, h, d, sorted.v(b, from, h, d));
      }
    }
  }
  const Answer expected(context(), sorted.args());
  const Answer actual(context(), permuted.args());
  expect_close({sorted}, actual, places(permuted), expected, places(sorted));
}

RC_GTEST_FIXTURE_PROP(Property, SplitsDoNotMatter, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.sink = *rc::gen::element(cases::Sink::none, cases::Sink::mixed);
  c.num_splits = 1;
  const Instance whole(c);
  c.num_splits = *rc::gen::inRange<std::int32_t>(2, 30);
  const Instance split(c);
  const Answer expected(context(), whole.args());
  const Answer actual(context(), split.args());
  expect_close({whole}, actual, places(split), expected, places(whole));
}

// Keys [begin, end) as a call of its own: positions stay global through the offsets, the sink is left to the merge.
fovea_forward_args part(const Instance& instance, std::int64_t begin, std::int64_t end) {
  fovea_forward_args args = instance.args();
  const Case& c = instance.of();
  for (fovea_tensor* t : {&args.k, &args.v, &args.mask}) {
    if (t->rank == 0) continue;
    const int dim = t == &args.mask ? 3 : 1;
    const std::int64_t bytes = t->dtype == FOVEA_BOOL ? 1 : t->dtype == FOVEA_F32 ? 4 : 2;
    t->data = static_cast<std::byte*>(t->data) + begin * t->strides[dim] * bytes;
    t->shape[dim] = end - begin;
  }
  args.flags |= FOVEA_FLAG_Q_OFFSET | FOVEA_FLAG_KV_OFFSET;
  args.q_offset = c.seqlen_kv - c.seqlen_q;
  args.kv_offset = begin;
  args.sink = {};
  return args;
}

RC_GTEST_FIXTURE_PROP(Property, MergedPartsAreTheWhole, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.sink = *rc::gen::element(cases::Sink::none, cases::Sink::random, cases::Sink::mixed);
  c.mask = *rc::gen::element(cases::Heads::none, cases::Heads::q);
  const Instance instance(c);
  const auto first = *rc::gen::inRange<std::int64_t>(0, c.seqlen_kv + 1);
  const auto second = *rc::gen::inRange<std::int64_t>(first, c.seqlen_kv + 1);
  std::vector<Answer> parts;
  parts.reserve(3);
  parts.emplace_back(context(), part(instance, 0, first));
  parts.emplace_back(context(), part(instance, first, second));
  parts.emplace_back(context(), part(instance, second, c.seqlen_kv));
  std::vector<fovea_tensor> outs, lses;
  for (const Answer& p : parts) {
    outs.push_back(p.out_view());
    lses.push_back(p.lse_view());
  }
  const Answer merged(instance.args());
  fovea_merge_args merge{};
  merge.struct_size = sizeof(merge);
  merge.outs = outs.data();
  merge.lses = lses.data();
  merge.count = 3;
  merge.out = merged.out_view();
  merge.lse = merged.lse_view();
  merge.sink = instance.args().sink;
  RC_ASSERT(fovea_merge(context(), &merge, nullptr) == FOVEA_OK);
  const Answer expected(context(), instance.args());
  expect_close({instance}, merged, places(instance), expected, places(instance));
}

RC_GTEST_FIXTURE_PROP(Property, ConstantBiasShiftsLseAlone, ()) {
  Case c = draw_case();
  draw_visibility(c);
  const Instance without(c);
  c.bias = cases::Heads::one;
  c.bias_rows = false;
  Instance with(c);
  const double shift = 0.25 * *rc::gen::inRange<int>(-40, 41);
  for (std::int64_t j = 0; j < c.seqlen_kv; ++j) with.set_bias(0, 0, 0, j, shift);
  const Answer expected(context(), without.args());
  const Answer actual(context(), with.args());
  expect_close({with}, actual, places(with), expected, places(without), shift);
}

RC_GTEST_FIXTURE_PROP(Property, SharedHeadsAreRepeatedHeads, ()) {
  Case c = draw_case();
  draw_visibility(c);
  const Instance grouped(c);
  const std::int64_t group = c.num_heads_q / c.num_heads_kv;
  c.num_heads_kv = c.num_heads_q;
  Instance repeated(c);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t j = 0; j < c.seqlen_kv; ++j) {
      for (std::int64_t h = 0; h < c.num_heads_kv; ++h) {
        for (std::int64_t d = 0; d < c.head_dim_qk; ++d) repeated.set_k(b, j, h, d, grouped.k(b, j, h / group, d));
        for (std::int64_t d = 0; d < c.head_dim_v; ++d) repeated.set_v(b, j, h, d, grouped.v(b, j, h / group, d));
      }
    }
  }
  const Answer expected(context(), repeated.args());
  const Answer actual(context(), grouped.args());
  expect_close({repeated}, actual, places(grouped), expected, places(repeated));
}

}  // namespace
}  // namespace fovea::property
