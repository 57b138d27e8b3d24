// Merge of partial results over disjoint key sets (section 3): each part weighs exp(lse_part - lse).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/reference.h"
#include "reference/walk.h"

namespace fovea::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One row (b, s, h) of a result. Packed results [T, H, D] and [H, T] have b = 0.
struct Row {
  std::int64_t b, s, h;
};

std::int64_t out_at(const fovea_tensor& t, Row r) {
  const std::int64_t* last = t.strides + t.rank - 3;
  return (t.rank == 4 ? r.b * t.strides[0] : 0) + r.s * last[0] + r.h * last[1];
}

std::int64_t lse_at(const fovea_tensor& t, Row r) {
  const std::int64_t* last = t.strides + t.rank - 2;
  return (t.rank == 3 ? r.b * t.strides[0] : 0) + r.h * last[0] + r.s * last[1];
}

void merge_row(const fovea_merge_args& a, Row r) {
  double m = -kInfinity;
  for (int p = 0; p < a.count; ++p) m = std::max(m, load(a.lses[p], lse_at(a.lses[p], r)));
  double l = 0;
  std::vector<double> out(static_cast<std::size_t>(head_dim(a.out)), 0.0);
  for (int p = 0; p < a.count; ++p) {
    const double lse = load(a.lses[p], lse_at(a.lses[p], r));
    if (lse == -kInfinity) continue;  // (0, -inf) is the identity
    const double weight = std::exp(lse - m);
    const std::vector<double> part = load_row<double>(a.outs[p], out_at(a.outs[p], r));
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * part[d];
    l += weight;
  }
  const double lse = l == 0 ? -kInfinity : m + std::log(l);
  const double factor = l == 0 ? 0 : sink_factor(a.sink, r.h, lse) / l;
  for (std::size_t d = 0; d < out.size(); ++d)
    store(a.out, out_at(a.out, r) + static_cast<std::int64_t>(d) * a.out.strides[a.out.rank - 1], out[d] * factor);
  if (present(a.lse)) store(a.lse, lse_at(a.lse, r), lse);
}

Refusal check_merge(const fovea_merge_args* args) {
  if (args == nullptr || args->outs == nullptr || args->lses == nullptr || !present(args->out))
    return {FOVEA_NULL_POINTER, "null_pointer", "args, outs, lses or out absent", "all four"};
  if (args->count < 1) return {FOVEA_MERGE_COUNT, "merge_count", "count < 1", "count >= 1"};
  for (int p = 0; p < args->count; ++p)
    if (args->outs[p].rank != args->out.rank || args->lses[p].rank != args->out.rank - 1)
      return {FOVEA_RANK, "rank", "rank of outs, lses or out", "4 and 3, or 3 and 2"};
  return {};
}

}  // namespace
}  // namespace fovea::reference

fovea_status fovea_reference_merge(const fovea_merge_args* args, fovea_error* error) try {
  namespace ref = fovea::reference;
  const ref::Refusal refusal = ref::check_merge(args);
  if (refusal.status != FOVEA_OK) return ref::report(refusal, error);
  const fovea_tensor& out = args->out;
  const std::int64_t batch = out.rank == 4 ? out.shape[0] : 1;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t s = 0; s < out.shape[out.rank - 3]; ++s)
      for (std::int64_t h = 0; h < out.shape[out.rank - 2]; ++h) ref::merge_row(*args, {b, s, h});
  return FOVEA_OK;
} catch (const std::bad_alloc&) {
  return fovea::reference::report({FOVEA_OUT_OF_MEMORY, "out_of_memory", "one row", "what fits in memory"}, error);
}
