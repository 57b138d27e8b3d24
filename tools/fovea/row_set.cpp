// Element addresses follow the views' strides; values pass through double.
#include "tools/fovea/row_set.h"

#include "reference/numbers.h"
#include "tools/fovea/sequences.h"

namespace fovea::cli {

RowSet::RowSet(const fovea_forward_args& args, std::int64_t row_stride) {
  for (const SequenceRows& s : sequences(args)) {
    for (std::int64_t i = 0; i < s.rows; i += row_stride) rows_.push_back({s.batch, s.begin + i});
  }
}

RowSet RowSet::complement(const fovea_forward_args& args) const {
  RowSet rest;
  std::vector<bool> owned(static_cast<std::size_t>(args.out.shape[0]), false);
  for (const Row& row : rows_) owned[static_cast<std::size_t>(row.row)] = true;
  for (std::size_t n = 0; n < owned.size(); ++n) {
    if (!owned[n]) rest.rows_.push_back({0, static_cast<std::int64_t>(n)});
  }
  return rest;
}

template <class F>
void RowSet::each_out(const fovea_tensor& out, F f) const {
  const int row_axis = out.rank - 3;
  for (const Row& row : rows_) {
    const std::int64_t batch = out.rank == 4 ? row.batch * out.strides[0] : 0;
    for (std::int64_t h = 0; h < out.shape[row_axis + 1]; ++h) {
      for (std::int64_t d = 0; d < out.shape[row_axis + 2]; ++d) {
        f(batch + row.row * out.strides[row_axis] + h * out.strides[row_axis + 1] + d * out.strides[row_axis + 2]);
      }
    }
  }
}

template <class F>
void RowSet::each_lse(const fovea_tensor& lse, F f) const {
  const int head_axis = lse.rank - 2;
  for (const Row& row : rows_) {
    const std::int64_t batch = lse.rank == 3 ? row.batch * lse.strides[0] : 0;
    for (std::int64_t h = 0; h < lse.shape[head_axis]; ++h) {
      f(batch + h * lse.strides[head_axis] + row.row * lse.strides[head_axis + 1]);
    }
  }
}

std::vector<double> RowSet::gather_out(const fovea_tensor& out) const {
  std::vector<double> values;
  each_out(out, [&](std::int64_t offset) { values.push_back(reference::load(out, offset)); });
  return values;
}

std::vector<double> RowSet::gather_lse(const fovea_tensor& lse) const {
  std::vector<double> values;
  each_lse(lse, [&](std::int64_t offset) { values.push_back(reference::load(lse, offset)); });
  return values;
}

void RowSet::store_out(const fovea_tensor& out, double value) const {
  each_out(out, [&](std::int64_t offset) { reference::store(out, offset, value); });
}

void RowSet::store_lse(const fovea_tensor& lse, double value) const {
  each_lse(lse, [&](std::int64_t offset) { reference::store(lse, offset, value); });
}

RowPlace RowSet::place(std::int64_t element, std::int64_t heads, std::int64_t dims) const {
  if (element < 0 || heads <= 0 || dims <= 0) return {};
  const Row& row = rows_[static_cast<std::size_t>(element / (heads * dims))];
  return {row.batch, row.row, element / dims % heads, element % dims};
}

}  // namespace fovea::cli
