// Properties of layout: the same numbers give the same answer however they lie in memory.
#include "property_support.h"

namespace fovea::property {
namespace {

using cases::Layout;
using cases::Strides;

RC_GTEST_FIXTURE_PROP(Property, PagedIsGathered, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.seqused_kv = *rc::gen::arbitrary<bool>();
  const Instance gathered(c);
  c.kv_layout = Layout::paged;
  c.page_size = *rc::gen::inRange<std::int64_t>(1, 70);
  const Instance paged(c);
  const Answer expected(context(), gathered.args());
  const Answer actual(context(), paged.args());
  expect_close({paged}, actual, places(paged), expected, places(gathered));
}

RC_GTEST_FIXTURE_PROP(Property, VarlenIsSeparateCalls, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.q_layout = c.kv_layout = Layout::varlen;
  c.lengths = *rc::gen::element(cases::Lengths::random, cases::Lengths::gaps);
  c.rows_before = *rc::gen::inRange<std::int64_t>(0, 4);
  c.rows_after = *rc::gen::inRange<std::int64_t>(0, 4);
  const Instance packed(c);
  const Answer actual(context(), packed.args());
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const auto only = [b](std::int64_t entry, std::int64_t, std::int64_t) { return entry == b; };
    fovea_forward_args args = packed.args();
    const auto slice = [](fovea_tensor& t, const cases::Rows& rows) {
      const std::int64_t bytes = t.dtype == FOVEA_F32 ? 4 : 2;
      t.data = static_cast<std::byte*>(t.data) + rows.begin * t.strides[0] * bytes;
      t.rank = 4;
      for (int i = 3; i > 0; --i) {
        t.shape[i] = t.shape[i - 1];
        t.strides[i] = t.strides[i - 1];
      }
      t.shape[0] = 1;
      t.strides[0] = 0;
      t.shape[1] = rows.rows;
    };
    const cases::Rows& q = packed.geometry().q[static_cast<std::size_t>(b)];
    const cases::Rows& kv = packed.geometry().kv[static_cast<std::size_t>(b)];
    slice(args.q, q);
    slice(args.out, q);
    slice(args.k, kv);
    slice(args.v, kv);
    args.cu_seqlens_q = args.cu_seqlens_kv = {};
    args.lse.rank = 3;
    args.lse.shape[0] = 1;
    args.lse.shape[1] = c.num_heads_q;
    args.lse.shape[2] = q.rows;
    const Answer expected(context(), args);
    const PlaceOf first = [](std::int64_t, std::int64_t i) { return Place{0, i}; };
    expect_close({packed, only}, actual, places(packed), expected, first);
  }
}

// Used lengths are slices; rows past seqused_q are empty.
RC_GTEST_FIXTURE_PROP(Property, UsedLengthsAreSlices, ()) {
  Case c = draw_case();
  draw_visibility(c);
  c.seqused_q = c.seqused_kv = true;
  const Instance padded(c);
  const Answer actual(context(), padded.args());
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const std::int64_t used_q = padded.geometry().q[static_cast<std::size_t>(b)].used;
    const std::int64_t used_kv = padded.geometry().kv[static_cast<std::size_t>(b)].used;
    fovea_forward_args args = alone(padded, b);
    args.seqused_q = args.seqused_kv = {};
    args.q.shape[1] = args.out.shape[1] = args.lse.shape[2] = used_q;
    args.k.shape[1] = args.v.shape[1] = used_kv;
    const Answer expected(context(), args);
    const auto used = [=](std::int64_t entry, std::int64_t, std::int64_t i) { return entry == b && i < used_q; };
    const PlaceOf first = [](std::int64_t, std::int64_t i) { return Place{0, i}; };
    expect_close({padded, used}, actual, places(padded), expected, first);
    for (std::int64_t i = used_q; i < c.seqlen_q; ++i) {
      for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
        RC_ASSERT(actual.lse(b, h, i) == -std::numeric_limits<float>::infinity());
        for (std::int64_t d = 0; d < c.head_dim_v; ++d) RC_ASSERT(actual.out(b, i, h, d) == 0.0F);
      }
    }
  }
}

RC_GTEST_FIXTURE_PROP(Property, StridesDoNotMatter, ()) {
  Case c = draw_case();
  draw_visibility(c);
  const Instance packed(c);
  c.strides = *rc::gen::element(Strides::bhsd, Strides::qkv, Strides::padded, Strides::unaligned, Strides::stride_d2,
                                Strides::reversed);
  const Instance strided(c);
  const Answer expected(context(), packed.args());
  const Answer actual(context(), strided.args());
  expect_close({strided}, actual, places(strided), expected, places(packed));
}

}  // namespace
}  // namespace fovea::property
