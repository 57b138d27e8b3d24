// Properties of bits: the same call gives the same bits, and with the flag so does a request in any company.
#include "property_support.h"

namespace fovea::property {
namespace {

using cases::Heads;
using cases::Layout;

Case draw_request() {
  Case c = draw_case();
  draw_visibility(c);
  c.q_layout = *rc::gen::element(Layout::dense, Layout::varlen);
  c.kv_layout = *rc::gen::element(Layout::dense, Layout::varlen, Layout::paged);
  c.page_size = *rc::gen::inRange<std::int64_t>(1, 40);
  c.seqused_kv = *rc::gen::arbitrary<bool>();
  c.mask = *rc::gen::element(Heads::none, Heads::one, Heads::q);
  c.mask_batch = *rc::gen::arbitrary<bool>();
  c.sink = *rc::gen::element(cases::Sink::none, cases::Sink::random);
  return c;
}

RC_GTEST_FIXTURE_PROP(Property, TheSameCallGivesTheSameBits, ()) {
  const Instance instance(draw_request());
  const Answer first(context(), instance.args());
  const Answer second(context(), instance.args());
  expect_same_bits({instance}, second, places(instance), first, places(instance));
}

RC_GTEST_FIXTURE_PROP(Property, BatchInvariantRequestsIgnoreTheirCompany, ()) {
  Case c = draw_request();
  c.batch = *rc::gen::inRange<std::int64_t>(2, 6);
  c.batch_invariant = true;
  if (*rc::gen::arbitrary<bool>()) {
    c.seqlen_q = 1;
    c.seqlen_kv = *rc::gen::inRange<std::int64_t>(1, 3000);
  }
  const Instance batch(c);
  const Answer together(context(), batch.args());
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const auto only = [b](std::int64_t entry, std::int64_t, std::int64_t) { return entry == b; };
    const Answer single(context(), alone(batch, b));
    RC_PRE(single.from_cpu() == together.from_cpu());  // a batch can be too large for the model, one request not
    const PlaceOf whole = places(batch);
    const PlaceOf first = [&](std::int64_t entry, std::int64_t i) { return Place{0, whole(entry, i).s}; };
    expect_same_bits({batch, only}, together, whole, single, first);
  }
}

}  // namespace
}  // namespace fovea::property
