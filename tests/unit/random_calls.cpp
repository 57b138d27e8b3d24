// Properties: whatever the arguments, a call ends in a status; a refusal has full texts and writes nothing; supports
// and forward agree. Wild views are only judged: their int32 contents are real, their other memory is never followed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "unit/forward_case.h"

namespace fovea::test {
namespace {

std::int64_t wild_int() {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2, 12), rc::gen::arbitrary<std::int64_t>(),
                         rc::gen::elementOf(std::vector<std::int64_t>{
                             std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                             std::int64_t{1} << 40, (std::int64_t{1} << 40) + 1, std::int64_t{1} << 61, 65536}));
}

std::vector<fovea_tensor*> float_views(ForwardCase& c) {
  return {&c.args.q, &c.args.k, &c.args.v, &c.args.out, &c.args.lse, &c.args.mask, &c.args.bias, &c.args.sink};
}

// One field of one view, or one setting, becomes anything. int32 views keep pointing at real memory.
void bend_view(fovea_tensor& t) {
  const auto dim = *rc::gen::inRange(0, FOVEA_MAX_RANK);
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      t.dtype = *rc::gen::inRange(-1, 9);
      break;
    case 1:
      t.rank = *rc::gen::inRange(-1, 7);
      break;
    case 2:
      t.shape[dim] = wild_int();
      break;
    case 3:
      t.strides[dim] = wild_int();
      break;
    case 4:
      t.device_type = *rc::gen::inRange(-1, 4);
      break;
    case 5:
      t.device_id = *rc::gen::inRange(-1, 3);
      break;
    default:
      t.data = reinterpret_cast<void*>(*rc::gen::arbitrary<std::uintptr_t>());
      break;
  }
}

void bend_setting(ForwardCase& c) {
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      c.args.flags = *rc::gen::arbitrary<std::uint32_t>();
      break;
    case 1:
      c.args.flags = *rc::gen::inRange<std::uint32_t>(0, 256);
      break;
    case 2:
      c.args.backend = *rc::gen::inRange(-2, 5);
      break;
    case 3:
      c.args.softmax_scale = *rc::gen::arbitrary<float>();
      break;
    case 4:
      c.args.softcap = *rc::gen::arbitrary<float>();
      break;
    case 5:
      c.args.window_left = wild_int();
      break;
    case 6:
      c.args.q_offset = wild_int();
      break;
    case 7:
      c.args.num_splits = *rc::gen::arbitrary<std::int32_t>();
      break;
    default:
      c.args.struct_size = *rc::gen::inRange<std::uint64_t>(0, sizeof(c.args));
      break;
  }
}

// Mostly what a caller would write: non-negative and rising; sometimes not.
std::vector<std::int32_t> small_ints(std::size_t count, std::int32_t largest) {
  const bool tidy = *rc::gen::inRange(0, 6) != 0;
  const auto values = tidy ? rc::gen::inRange<std::int32_t>(0, largest + 1) : rc::gen::inRange<std::int32_t>(-1, 12);
  auto ints = *rc::gen::container<std::vector<std::int32_t>>(count, values);
  if (tidy) std::sort(ints.begin(), ints.end());
  return ints;
}

void choose_layout(ForwardCase& c) {
  if (*rc::gen::arbitrary<bool>()) c.make_varlen_q(small_ints(3, 6));
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      c.make_varlen_kv(small_ints(3, 10));
      break;
    case 1:
      c.make_paged(small_ints(2, 6), small_ints(6, 4));
      break;
    default:
      break;
  }
  if (*rc::gen::arbitrary<bool>()) c.set_seqused_q(small_ints(2, 3));
  const std::int64_t keys = c.args.cu_seqlens_kv.rank + c.args.page_table.rank == 0 ? 5 : 10;
  if (*rc::gen::arbitrary<bool>()) c.set_mask({1, 2, 1, keys});
  if (*rc::gen::arbitrary<bool>()) c.set_bias({2, 1, 1, keys});
  if (*rc::gen::arbitrary<bool>()) c.set_sink({4});
}

class RandomCalls : public testing::Test {
 protected:
  ContextPtr context_ = make_context(1);
};

RC_GTEST_FIXTURE_PROP(RandomCalls, wild_arguments_are_judged_without_harm, ()) {
  ForwardCase c;
  choose_layout(c);
  const auto bends = *rc::gen::inRange(1, 4);
  for (int i = 0; i < bends; ++i) {
    if (*rc::gen::inRange(0, 3) == 0) {
      bend_setting(c);
    } else {
      bend_view(**rc::gen::elementOf(float_views(c)));
    }
  }
  const fovea_status status = c.supports(context_.get());
  RC_CLASSIFY(status == FOVEA_OK, "accepted");
  RC_ASSERT(c.outputs_untouched());
  if (status == FOVEA_OK) return;
  RC_ASSERT(refusal_fault(c.error, status) == "");
  RC_ASSERT(c.forward(context_.get()) == status);
  RC_ASSERT(c.outputs_untouched());
}

RC_GTEST_FIXTURE_PROP(RandomCalls, contents_of_index_tensors_are_judged_and_accepted_calls_run, ()) {
  ForwardCase c;
  choose_layout(c);
  const fovea_status judged = c.supports(context_.get());
  RC_CLASSIFY(judged == FOVEA_OK, "accepted");
  RC_ASSERT(c.forward(context_.get()) == judged);
  RC_ASSERT(judged == FOVEA_OK || c.outputs_untouched());
}

}  // namespace
}  // namespace fovea::test
