// RowSet: a set of query rows of a call, and the elements of out and lse that belong to them, in one fixed order:
// row by row, head by head, element by element.
#pragma once

#include <cstdint>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::cli {

struct RowPlace {
  std::int64_t batch = 0, row = 0, head = 0, dim = 0;  // row: storage row, counted from the tensor's start
};

class RowSet {
 public:
  // Rows i of each sequence with i % row_stride == 0, rows past seqused_q included: calls write those too.
  RowSet(const fovea_forward_args& args, std::int64_t row_stride);
  // The packed rows that belong to no sequence.
  RowSet complement(const fovea_forward_args& args) const;

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  std::vector<double> gather_out(const fovea_tensor& out) const;
  std::vector<double> gather_lse(const fovea_tensor& lse) const;
  void store_out(const fovea_tensor& out, double value) const;
  void store_lse(const fovea_tensor& lse, double value) const;
  // Where element number `element` of a gathered array lies; gather_lse() has one element per (row, head).
  RowPlace place(std::int64_t element, std::int64_t heads, std::int64_t dims) const;

 private:
  struct Row {
    std::int64_t batch, row;
  };
  RowSet() = default;
  template <class F>
  void each_out(const fovea_tensor& out, F f) const;
  template <class F>
  void each_lse(const fovea_tensor& lse, F f) const;

  std::vector<Row> rows_;
};

}  // namespace fovea::cli
