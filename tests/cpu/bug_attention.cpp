// One attention call of a bug report test: the argument struct, the run, and the judgement against the fp64 reference.
// The limit is the contract's: twice the worst error of a plain same-precision evaluation, plus a floor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cases/compare.h"
#include "cpu/bug_support.h"
#include "cpu/test_backend.h"
#include "reference/plain.h"
#include "reference/reference.h"

namespace fovea::bugs {
namespace {

constexpr int kShownMismatches = 3;

std::string place(const Index& i) {
  std::string text = "(";
  for (std::size_t d = 0; d < i.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(i[d]);
  return text + ")";
}

bool agree(double actual, double expected, double limit) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= limit;  // false for NaN
}

void expect_close(const char* what, const Tensor& actual, const Tensor& expected, cases::Limit limit) {
  int bad = 0;
  actual.visit([&](const Index& i) {
    const double got = actual.at(i), right = expected.at(i);
    if (agree(got, right, limit.at(right)) || ++bad > kShownMismatches) return;
    ADD_FAILURE() << what << place(i) << " = " << got << ", expected " << right << " within " << limit.at(right);
  });
  EXPECT_EQ(bad, 0) << what << ": elements that differ";
}

double worst_error(const Tensor& plain, const Tensor& expected) {
  double worst = 0;
  plain.visit([&](const Index& i) {
    const double error = std::abs(plain.at(i) - expected.at(i));
    if (std::isfinite(error)) worst = std::max(worst, error);
  });
  return worst;
}

double largest(const Tensor& t) {
  double value = 0;
  t.visit([&](const Index& i) {
    if (std::isfinite(t.at(i))) value = std::max(value, std::abs(t.at(i)));
  });
  return value;
}

std::string text(const fovea_error& error) {
  return std::string(error.code) + ": " + error.asked + "; " + error.allowed + "; " + error.why + "; " + error.hint;
}

}  // namespace

Context::Context(int num_threads) {
  fovea_context_args args{};
  args.struct_size = sizeof(args);
  args.num_threads = num_threads;
  args.model_sm = test_backend::model_sm();
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(fovea_context_create(&args, &context_, &error), FOVEA_OK) << text(error);
}

Context::~Context() { fovea_context_destroy(context_); }

const Context& shared_context() {
  static const Context context;
  return context;
}

Attention::Attention(const Tensor& q, const Tensor& k, const Tensor& v) : context_(shared_context().get()) {
  args_.struct_size = sizeof(args_);
  keep(args_.q, q);
  keep(args_.k, k);
  keep(args_.v, v);
  const int rank = q.view().rank;
  Shape shape(q.view().shape, q.view().shape + rank);
  shape.back() = v.size(v.view().rank - 1);
  out_view(Tensor(q.dtype(), shape));
  lse_ = rank == 3 ? Tensor(FOVEA_F32, {q.size(1), q.size(0)}) : Tensor(FOVEA_F32, {q.size(0), q.size(2), q.size(1)});
  args_.lse = lse_.view();
}

void Attention::keep(fovea_tensor& slot, const Tensor& t) {
  kept_.push_back(t);
  slot = t.view();
}

Attention& Attention::causal() {
  args_.flags |= FOVEA_FLAG_CAUSAL;
  return *this;
}
Attention& Attention::window_left(std::int64_t n) {
  args_.flags |= FOVEA_FLAG_WINDOW_LEFT;
  args_.window_left = n;
  return *this;
}
Attention& Attention::window_right(std::int64_t n) {
  args_.flags |= FOVEA_FLAG_WINDOW_RIGHT;
  args_.window_right = n;
  return *this;
}
Attention& Attention::q_offset(std::int64_t n) {
  args_.flags |= FOVEA_FLAG_Q_OFFSET;
  args_.q_offset = n;
  return *this;
}
Attention& Attention::scale(float s) {
  args_.flags |= FOVEA_FLAG_SOFTMAX_SCALE;
  args_.softmax_scale = s;
  return *this;
}
Attention& Attention::softcap(float c) {
  args_.softcap = c;
  return *this;
}
Attention& Attention::splits(std::int32_t n) {
  args_.num_splits = n;
  return *this;
}
Attention& Attention::batch_invariant() {
  args_.flags |= FOVEA_FLAG_BATCH_INVARIANT;
  return *this;
}
Attention& Attention::mask(const Tensor& t) {
  keep(args_.mask, t);
  return *this;
}
Attention& Attention::bias(const Tensor& t) {
  keep(args_.bias, t);
  return *this;
}
Attention& Attention::sink(const Tensor& t) {
  keep(args_.sink, t);
  return *this;
}
Attention& Attention::cu_q(const std::vector<std::int32_t>& offsets) {
  keep(args_.cu_seqlens_q, Tensor::ints(offsets));
  return *this;
}
Attention& Attention::cu_kv(const std::vector<std::int32_t>& offsets) {
  keep(args_.cu_seqlens_kv, Tensor::ints(offsets));
  return *this;
}
Attention& Attention::used_q(const std::vector<std::int32_t>& lengths) {
  keep(args_.seqused_q, Tensor::ints(lengths));
  return *this;
}
Attention& Attention::used_kv(const std::vector<std::int32_t>& lengths) {
  keep(args_.seqused_kv, Tensor::ints(lengths));
  return *this;
}
Attention& Attention::pages(const std::vector<std::vector<std::int32_t>>& table) {
  keep(args_.page_table, Tensor::ints(table));
  return *this;
}
Attention& Attention::out_view(const Tensor& t) {
  out_ = t;
  args_.out = t.view();
  return *this;
}
Attention& Attention::on(const Context& context) {
  context_ = context.get();
  return *this;
}
Attention& Attention::stride(fovea_tensor fovea_forward_args::*operand, int dim, std::int64_t value) {
  (args_.*operand).strides[dim] = value;
  return *this;
}

fovea_error Attention::poisoned() {
  out_.poison();
  lse_.poison();
  fovea_error error{};
  error.struct_size = sizeof(error);
  return error;
}

Attention& Attention::run() {
  fovea_error error = poisoned();
  EXPECT_EQ(test_backend::forward(context_, args_, &error, &ran_on_cpu_), FOVEA_OK) << text(error);
  return *this;
}

Attention& Attention::run_on_cpu() {
  fovea_error error = poisoned();
  EXPECT_EQ(fovea_forward(context_, &args_, &error), FOVEA_OK) << text(error);
  ran_on_cpu_ = true;
  return *this;
}

bool Attention::outside(std::int64_t packed_row) const {
  const fovea_tensor& cu = args_.cu_seqlens_q;
  if (cu.rank == 0) return false;
  const auto* offsets = static_cast<const std::int32_t*>(cu.data);
  return packed_row < offsets[0] || packed_row >= offsets[cu.shape[0] - 1];
}

void Attention::expect_outside_untouched() const {
  std::int64_t touched = 0;
  out_.visit([&](const Index& i) { touched += outside(i[0]) && !out_.untouched(i) ? 1 : 0; });
  lse_.visit([&](const Index& i) { touched += outside(i[1]) && !lse_.untouched(i) ? 1 : 0; });
  EXPECT_EQ(touched, 0) << "elements written outside all sequences";
}

Attention& Attention::expect_reference() {
  run();
  const auto dtype = static_cast<fovea_dtype>(args_.q.dtype);
  const Tensor right = out_.like(FOVEA_F64), right_lse = lse_.like(FOVEA_F64), plain = out_.like(out_.dtype());
  fovea_forward_args args = args_;
  args.out = right.view();
  args.lse = right_lse.view();
  EXPECT_EQ(fovea_reference_forward(&args, nullptr), FOVEA_OK);
  args.out = plain.view();
  args.lse = fovea_tensor{};
  EXPECT_EQ(fovea_plain_forward(&args, nullptr), FOVEA_OK);

  const double limit = cases::out_limit(worst_error(plain, right), largest(right), out_.dtype());
  expect_close("out", out_, right, {limit});
  expect_close("lse", lse_, right_lse, cases::lse_limit(dtype));
  if (out_.view().rank == 3) expect_outside_untouched();
  return *this;
}

void Attention::expect_refusal(fovea_status status) {
  fovea_error error = poisoned();
  EXPECT_EQ(fovea_forward(context_, &args_, &error), status) << text(error);
  EXPECT_STREQ(error.code, fovea_status_name(status));
  EXPECT_STRNE(error.hint, "");
  bool written = false;
  out_.visit([&](const Index& i) { written = written || !out_.untouched(i); });
  lse_.visit([&](const Index& i) { written = written || !lse_.untouched(i); });
  EXPECT_FALSE(written) << "a refused call wrote to its outputs";
}

void expect_empty_row(const Attention& call, std::int64_t b, std::int64_t h, std::int64_t s) {
  const Tensor row = call.out().slice(0, b, 1).slice(1, s, 1).slice(2, h, 1);
  row.visit([&](const Index& i) { EXPECT_EQ(row.at(i), 0.0) << "row " << s << " d " << i[3]; });
  EXPECT_EQ(call.lse().at({b, h, s}), -std::numeric_limits<double>::infinity()) << "row " << s;
}

void merge(const std::vector<Part>& parts, const Part& result, const Tensor& sink) {
  std::vector<fovea_tensor> outs, lses;
  for (const Part& part : parts) {
    outs.push_back(part.out.view());
    lses.push_back(part.lse.view());
  }
  fovea_merge_args args{};
  args.struct_size = sizeof(args);
  args.outs = outs.data();
  args.lses = lses.data();
  args.count = static_cast<std::int32_t>(parts.size());
  args.out = result.out.view();
  args.lse = result.lse.view();
  args.sink = sink.view();
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(fovea_merge(shared_context().get(), &args, &error), FOVEA_OK) << text(error);
}

void expect_identical(const Tensor& actual, const Tensor& expected) { expect_close("element", actual, expected, {}); }

void expect_near(const Tensor& actual, const Tensor& expected, double limit) {
  expect_close("element", actual, expected, {limit});
}

}  // namespace fovea::bugs
