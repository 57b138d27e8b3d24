// Gathers the judged rows of both sides into plain arrays and leaves the comparison to cases/compare.h.
#include "tools/fovea/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/plain.h"
#include "reference/reference.h"
#include "tools/cases/compare.h"
#include "tools/fovea/library.h"
#include "tools/fovea/row_set.h"
#include "tools/fovea/sequences.h"

namespace fovea::cli {
namespace {

// The same call with outputs of its own.
struct OtherOutputs {
  fovea_forward_args args;
  Tensor out, lse;
};

Result<OtherOutputs> other_outputs(const Call& call, ElementType out_type, ElementType lse_type) {
  OtherOutputs other{
      .args = call.args, .out = make_tensor(out_type, call.out.shape), .lse = make_tensor(lse_type, call.lse.shape)};
  if (other.out.data == nullptr || other.lse.data == nullptr) {
    return Failure{.exit = ExitCode::internal,
                   .code = "out_of_memory",
                   .found = "outputs of the reference",
                   .allowed = "what fits this machine's memory",
                   .why = {},
                   .hint = "leave out --check",
                   .file = {},
                   .offset = {}};
  }
  other.args.out.data = other.out.data;
  other.args.lse.data = other.lse.data;
  const auto dtype = [](ElementType type) { return type == ElementType::f64 ? FOVEA_F64 : FOVEA_F32; };
  if (out_type != call.out.type) other.args.out.dtype = dtype(out_type);
  if (lse_type != call.lse.type) other.args.lse.dtype = dtype(lse_type);
  return other;
}

std::string place(const RowSet& rows, const fovea_tensor& out, std::int64_t element) {
  const RowPlace at = rows.place(element, out.shape[out.rank - 2], out.shape[out.rank - 1]);
  return "b=" + std::to_string(at.batch) + ", row=" + std::to_string(at.row) + ", head=" + std::to_string(at.head) +
         ", d=" + std::to_string(at.dim);
}

std::string lse_place(const RowSet& rows, const fovea_tensor& out, std::int64_t element) {
  const RowPlace at = rows.place(element, out.shape[out.rank - 2], 1);
  return "lse at b=" + std::to_string(at.batch) + ", row=" + std::to_string(at.row) +
         ", head=" + std::to_string(at.head);
}

}  // namespace

Outcome validate_for_reference(fovea_context* context, const fovea_forward_args& args) {
  fovea_forward_args narrow = args;
  for (fovea_tensor* tensor : {&narrow.q, &narrow.k, &narrow.v, &narrow.out, &narrow.bias, &narrow.sink, &narrow.lse}) {
    if (tensor->rank > 0 && tensor->dtype == FOVEA_F64) tensor->dtype = FOVEA_F32;
  }
  return checked([&](fovea_error* error) { return fovea_supports(context, &narrow, error); });
}

Result<Judgement> judge_with_reference(const Call& call, double max_work) {
  const double work = forward_flops(call.args) / 2;
  const auto row_stride = static_cast<std::int64_t>(std::max(1.0, std::ceil(work / max_work)));
  Result<OtherOutputs> expected = other_outputs(call, ElementType::f64, ElementType::f64);
  if (!expected.ok()) return expected.failure();
  Result<OtherOutputs> plain = other_outputs(call, call.out.type, ElementType::f32);
  if (!plain.ok()) return plain.failure();
  for (const auto& call_of : {std::pair(&fovea_reference_forward_rows, &expected.value().args),
                              std::pair(&fovea_plain_forward_rows, &plain.value().args)}) {
    const auto run = [&](fovea_error* error) { return call_of.first(call_of.second, row_stride, 0, error); };
    if (Outcome bad = checked(run)) return *bad;
  }
  const RowSet rows(call.args, row_stride);
  const std::vector<double> want = rows.gather_out(expected.value().args.out);
  const std::vector<double> want_lse = rows.gather_lse(expected.value().args.lse);
  const double plain_error = cases::worst_error(rows.gather_out(plain.value().args.out), want);
  const auto out_dtype = static_cast<fovea_dtype>(call.args.out.dtype);
  const cases::Limit lse_limit = cases::lse_limit(static_cast<fovea_dtype>(call.args.q.dtype));
  Judgement result{.limit = cases::out_limit(plain_error, cases::largest(want), out_dtype),
                   .lse_limit = lse_limit.at(cases::largest(want_lse)),
                   .rows_checked = rows.size(),
                   .rows_total = RowSet(call.args, 1).size(),
                   .message = {}};
  const cases::Comparison out = cases::compare(rows.gather_out(call.args.out), want, {result.limit});
  const cases::Comparison lse = cases::compare(rows.gather_lse(call.args.lse), want_lse, lse_limit);
  result.max_error = out.max_error;
  result.max_lse_error = lse.max_error;
  result.passed = out.passed && lse.passed;
  if (!lse.passed) result.message = describe(lse, lse_place(rows, call.args.out, lse.first_bad), lse_limit);
  if (!out.passed) result.message = describe(out, place(rows, call.args.out, out.first_bad), {result.limit});
  return result;
}

Result<Judgement> judge_with_stored(const Call& call, Tensor expected, FileLayout layout, double tolerance) {
  if (expected.shape != call.out.shape) {
    return Failure{.exit = ExitCode::usage,
                   .code = "expect_shape",
                   .found = shape_text(expected.shape),
                   .allowed = shape_text(call.out.shape) + ", the shape of the output",
                   .why = {},
                   .hint = {},
                   .file = {},
                   .offset = {}};
  }
  const Result<fovea_tensor> view = rows_view(expected, layout, call.args.cu_seqlens_q.rank > 0);
  if (!view.ok()) return view.failure();
  const RowSet rows(call.args, 1);
  const std::vector<double> want = rows.gather_out(view.value());
  double largest = 0;
  for (const double x : want) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
  Judgement result{
      .limit = tolerance * (1 + largest), .rows_checked = rows.size(), .rows_total = rows.size(), .message = {}};
  const cases::Comparison out = cases::compare(rows.gather_out(call.args.out), want, {result.limit});
  result.max_error = out.max_error;
  result.passed = out.passed;
  if (!out.passed) result.message = describe(out, place(rows, call.args.out, out.first_bad), {result.limit});
  return result;
}

void fill_outputs_with_nan(const Call& call) {
  // All ones is a NaN in every float format here.
  for (const Tensor* tensor : {&call.out, &call.lse}) {
    std::fill(tensor->storage->bytes().begin(), tensor->storage->bytes().end(), std::byte{0xff});
  }
}

void settle_unowned_rows(const Call& call) {
  if (call.args.cu_seqlens_q.rank == 0) return;
  const RowSet owned(call.args, 1);
  const RowSet rest = owned.complement(call.args);
  rest.store_out(call.args.out, 0.0);
  rest.store_lse(call.args.lse, -std::numeric_limits<double>::infinity());
}

}  // namespace fovea::cli
