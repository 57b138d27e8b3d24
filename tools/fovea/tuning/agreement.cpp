// The comparator of the test cases judges.
#include "tools/fovea/tuning/agreement.h"

#include "reference/numbers.h"
#include "tools/cases/compare.h"

namespace fovea::cli {
namespace {

std::vector<double> elements(const fovea_tensor& tensor) {
  std::int64_t count = tensor.rank == 0 ? 0 : 1;
  for (std::int32_t i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = reference::load(tensor, i);
  return values;
}

std::string wrong(const char* name, const std::vector<double>& tried, const std::vector<double>& tuned,
                  cases::Limit limit) {
  const cases::Comparison result = cases::compare(tried, tuned, limit);
  if (result.passed) return {};
  return std::string("wrong ") + name + ": " +
         cases::describe(result, "element " + std::to_string(result.first_bad), limit);
}

}  // namespace

Outputs outputs_of(const fovea_forward_args& args) { return {elements(args.out), elements(args.lse)}; }

std::string disagreement(const Outputs& tried, const Outputs& tuned, const fovea_forward_args& args) {
  const auto out = static_cast<fovea_dtype>(args.out.dtype);
  const cases::Limit rounding{.absolute = 8 * cases::out_limit(0, cases::largest(tuned.out), out)};
  const std::string why = wrong("out", tried.out, tuned.out, rounding);
  if (!why.empty()) return why;
  cases::Limit lse = cases::lse_limit(static_cast<fovea_dtype>(args.q.dtype));
  lse.absolute *= 2, lse.relative *= 2;
  return wrong("lse", tried.lse, tuned.lse, lse);
}

}  // namespace fovea::cli
