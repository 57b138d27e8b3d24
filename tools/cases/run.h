// Runs one Case through the C ABI on one backend and judges the result against the fp64 reference (contract section 5).
// Long cases are judged on a seeded subset of rows; rows_checked says how many.
#pragma once

#include <cstdint>
#include <string>

#include "cases/case.h"

namespace fovea::cases {

class Instance;

struct RunOptions {
  fovea_backend backend = FOVEA_BACKEND_AUTO;
  void* stream = nullptr;              // of backend cuda
  bool skip_unsupported = false;       // a case that fovea_supports() refuses is skipped, not failed
  std::int64_t min_rows = 64;          // rows per (batch, head) that are judged, where there are that many
  std::int64_t all_rows_below = 1024;  // sequences shorter than this are judged in full
};

struct CaseResult {
  bool passed = false;
  bool skipped = false;            // the backend does not serve the case; `message` says why
  fovea_status status = FOVEA_OK;  // of the call itself
  double worst_error = 0;          // largest |out - reference|
  double limit = 0;                // what it may be: 2 * worst plain error + floor
  double worst_lse_error = 0;
  std::int64_t rows_checked = 0;  // (batch, head, row) triples
  double seconds = 0;             // of the fovea call alone
  std::string message;            // empty when passed; otherwise what, where, both values
};

CaseResult run_case(const Case& c, fovea_context* context, const RunOptions& options = {});

// Judges outputs that are already in the instance; status and seconds are left alone.
CaseResult judge(const Instance& instance, const RunOptions& options = {});

// The shell command that repeats a case.
std::string repeat_command(const Case& c);

}  // namespace fovea::cases
