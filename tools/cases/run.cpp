// One Case from memory to verdict: materialize, call, evaluate the reference and the plain yardstick on the same rows,
// compare. The rules of comparison are compare.h's.
#include "cases/run.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <sstream>
#include <vector>

#include "cases/compare.h"
#include "cases/device_call.h"
#include "cases/materialize.h"
#include "cases/random.h"
#include "reference/numbers.h"
#include "reference/plain.h"
#include "reference/reference.h"

namespace fovea::cases {
namespace {

struct Row {
  std::int64_t b, h, i;
};

// Rows i with i % stride == phase, for each phase. The stride is odd so that every position within a tile is met.
struct Selection {
  std::int64_t stride = 1;
  std::vector<std::int64_t> phases{0};
};

Selection select_rows(const Case& c, const RunOptions& options) {
  Selection s;
  if (c.seqlen_q < options.all_rows_below || options.min_rows < 1) return s;
  s.stride = std::max<std::int64_t>(1, c.seqlen_q / options.min_rows);
  s.stride -= 1 - s.stride % 2;
  const std::int64_t phase = integer(random_bits(c.seed, Stream::rows, 0), 0, s.stride - 1);
  // Sequences shorter than the stride have a row 0 at least.
  if (phase != 0) s.phases.push_back(phase);
  return s;
}

std::vector<Row> rows_of(const Instance& instance, const Selection& selection) {
  std::vector<Row> rows;
  const Case& c = instance.of();
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
      for (const std::int64_t phase : selection.phases) {
        const std::int64_t end = instance.geometry().q[static_cast<std::size_t>(b)].rows;
        for (std::int64_t i = phase; i < end; i += selection.stride) rows.push_back({b, h, i});
      }
    }
  }
  return rows;
}

// Replaces out and lse of a call by packed tensors of its own, filled with NaN.
class Expected {
 public:
  Expected(const Instance& instance, fovea_dtype out_dtype, fovea_dtype lse_dtype) : args_(instance.args()) {
    const Case& c = instance.of();
    varlen_ = c.q_layout == Layout::varlen;
    out_ = allocate(args_.out, out_dtype);
    if (c.lse) lse_ = allocate(args_.lse, lse_dtype);
  }

  template <class Forward>
  fovea_status run(Forward forward, const Selection& selection, fovea_error* error) {
    for (const std::int64_t phase : selection.phases) {
      const fovea_status status = forward(&args_, selection.stride, phase, error);
      if (status != FOVEA_OK) return status;
    }
    return FOVEA_OK;
  }

  double out(const Instance& instance, const Row& r, std::int64_t d) const {
    const std::int64_t* s = args_.out.strides + (varlen_ ? 0 : 1);
    const std::int64_t row = instance.geometry().q[static_cast<std::size_t>(r.b)].begin + r.i;
    return reference::load(args_.out, (varlen_ ? 0 : r.b * args_.out.strides[0]) + row * s[0] + r.h * s[1] + d);
  }
  double lse(const Instance& instance, const Row& r) const {
    const std::int64_t* s = args_.lse.strides + (varlen_ ? 0 : 1);
    const std::int64_t row = instance.geometry().q[static_cast<std::size_t>(r.b)].begin + r.i;
    return reference::load(args_.lse, (varlen_ ? 0 : r.b * args_.lse.strides[0]) + r.h * s[0] + row);
  }

 private:
  static std::vector<double> allocate(fovea_tensor& t, fovea_dtype dtype) {
    std::int64_t count = 1;
    for (int i = t.rank - 1; i >= 0; --i) {
      t.strides[i] = count;
      count *= t.shape[i];
    }
    std::vector<double> storage(static_cast<std::size_t>(count));
    t.data = storage.data();
    t.dtype = dtype;
    for (std::int64_t e = 0; e < count; ++e) reference::store(t, e, std::numeric_limits<double>::quiet_NaN());
    return storage;
  }

  fovea_forward_args args_;
  bool varlen_ = false;
  std::vector<double> out_, lse_;
};

std::string error_text(const fovea_error& e) {
  std::ostringstream text;
  text << e.code << ": asked " << e.asked << "; allowed " << e.allowed << "; " << e.why << "; " << e.hint;
  return text.str();
}

std::string where(const Row& r) {
  std::ostringstream text;
  text << "(b=" << r.b << ", h=" << r.h << ", i=" << r.i;
  return text.str();
}

void judge_out(const Instance& instance, const std::vector<Row>& rows, const Expected& exact, const Expected& plain,
               CaseResult& result) {
  const std::int64_t dim = instance.of().head_dim_v;
  std::vector<double> actual, expected, yardstick;
  for (const Row& r : rows) {
    for (std::int64_t d = 0; d < dim; ++d) {
      actual.push_back(instance.out(r.b, r.i, r.h, d));
      expected.push_back(exact.out(instance, r, d));
      yardstick.push_back(plain.out(instance, r, d));
    }
  }
  result.limit = out_limit(worst_error(yardstick, expected), largest(expected), instance.of().out_dtype);
  const Comparison c = compare(actual, expected, {result.limit});
  result.worst_error = c.max_error;
  if (c.passed) return;
  const auto at = static_cast<std::size_t>(std::max<std::int64_t>(c.first_bad, 0));
  const auto d = static_cast<std::int64_t>(at) % dim;
  result.message =
      "out: " +
      describe(c, where(rows[at / static_cast<std::size_t>(dim)]) + ", d=" + std::to_string(d) + ")", {result.limit});
}

void judge_lse(const Instance& instance, const std::vector<Row>& rows, const Expected& exact, CaseResult& result) {
  std::vector<double> actual, expected;
  for (const Row& r : rows) {
    actual.push_back(instance.lse(r.b, r.h, r.i));
    expected.push_back(exact.lse(instance, r));
  }
  const Limit limit = lse_limit(instance.of().dtype);
  const Comparison c = compare(actual, expected, limit);
  result.worst_lse_error = c.max_error;
  if (c.passed || !result.message.empty()) return;
  const auto at = static_cast<std::size_t>(std::max<std::int64_t>(c.first_bad, 0));
  result.message = "lse: " + describe(c, where(rows[at]) + ")", limit);
}

}  // namespace

CaseResult judge(const Instance& instance, const RunOptions& options) {
  CaseResult result;
  const Selection selection = select_rows(instance.of(), options);
  const std::vector<Row> rows = rows_of(instance, selection);
  result.rows_checked = static_cast<std::int64_t>(rows.size());
  Expected exact(instance, FOVEA_F64, FOVEA_F64);
  Expected plain(instance, instance.of().out_dtype, FOVEA_F32);
  fovea_error error{};
  error.struct_size = sizeof(error);
  if (exact.run(fovea_reference_forward_rows, selection, &error) != FOVEA_OK ||
      plain.run(fovea_plain_forward_rows, selection, &error) != FOVEA_OK) {
    result.message = "the reference refused: " + error_text(error);
    return result;
  }
  judge_out(instance, rows, exact, plain, result);
  if (instance.of().lse) judge_lse(instance, rows, exact, result);
  const std::string violation = instance.untouched_violation();
  if (!violation.empty()) result.message = violation;
  result.passed = result.message.empty();
  return result;
}

namespace {

// Refusals that mean "no kernel of this backend serves it", as against a broken call or machine.
bool not_served(fovea_status status) {
  return status == FOVEA_UNSUPPORTED || status == FOVEA_DTYPE || status == FOVEA_HEAD_DIM || status == FOVEA_ALIGNMENT;
}

// The call itself, or the reason why it is skipped or was refused.
void call(const fovea_forward_args& args, fovea_context* context, const RunOptions& options, CaseResult& result) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  if (options.skip_unsupported && not_served(fovea_supports(context, &args, &error))) {
    result.skipped = true;
    result.message = error_text(error);
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  result.status = fovea_forward(context, &args, &error);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.status != FOVEA_OK) result.message = "refused: " + error_text(error);
}

void run_on_device(Instance& instance, fovea_context* context, const RunOptions& options, CaseResult& result) {
  result.message = no_device_reason();
  if (!result.message.empty()) return;
  DeviceCall device(instance.args(), instance.ranges());
  if (device.error().empty()) call(device.args(), context, options, result);
  if (!result.message.empty()) return;
  device.download();
  result.message = device.error();
}

}  // namespace

CaseResult run_case(const Case& c, fovea_context* context, const RunOptions& options) {
  CaseResult result;
  result.message = validate(c);
  if (!result.message.empty()) return result;
  Instance instance(c);
  instance.args().backend = options.backend;
  instance.args().stream = options.stream;
  if (options.backend == FOVEA_BACKEND_CUDA) {
    run_on_device(instance, context, options, result);
  } else {
    call(instance.args(), context, options, result);
  }
  if (!result.message.empty()) return result;
  const CaseResult run = result;
  result = judge(instance, options);
  result.status = run.status;
  result.seconds = run.seconds;
  return result;
}

std::string repeat_command(const Case& c) { return "fovea check --case \"" + to_string(c) + "\""; }

}  // namespace fovea::cases
