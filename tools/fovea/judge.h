// judge: compares a finished call element by element, with the fp64 reference (docs/contract.md, section 5) or with a
// stored output. Long calls are judged on every n-th row of each sequence; the verdict says how many rows.
#pragma once

#include <cstdint>
#include <string>

#include "tools/fovea/call.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct Judgement {
  bool passed = false;
  double max_error = 0;  // largest |out - expected| over elements finite in both
  double limit = 0;
  double max_lse_error = 0;
  double lse_limit = 0;           // at the largest |lse|
  std::int64_t rows_checked = 0;  // of one head
  std::int64_t rows_total = 0;
  std::string message;  // empty when passed
};

// Whether fovea_forward() would take the call, also with f64 operands, which only the reference computes on.
Outcome validate_for_reference(fovea_context* context, const fovea_forward_args& args);

// `max_work` bounds pairs * head dims that the naive reference evaluates.
Result<Judgement> judge_with_reference(const Call& call, double max_work);

// Passes when |out - expected| <= tolerance * (1 + largest |expected|). `expected` has the shape of call.out.
Result<Judgement> judge_with_stored(const Call& call, Tensor expected, FileLayout layout, double tolerance);

// Rows of q that belong to no sequence are never touched by a call; before writing a file they get out = 0, lse = -inf.
void fill_outputs_with_nan(const Call& call);
void settle_unowned_rows(const Call& call);

}  // namespace fovea::cli
