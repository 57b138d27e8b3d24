// The cpu backend's entry points: run a Plan over validated operands, and merge partial results.
#pragma once

#include "core/error.h"
#include "core/threads.h"
#include "core/workspace.h"
#include "plan/merge_operands.h"
#include "plan/plan.h"

namespace fovea::cpu {

// Computes out (and lse). Returns an Error only when workspace cannot be allocated; then nothing was written.
Check run_forward(const Plan& plan, const ForwardOperands& operands, ThreadPool& pool, Workspace& workspace);

void run_merge(const MergeOperands& operands, ThreadPool& pool);

// One row of a merge: result row (b, s, h) from the same row of every part.
void merge_row(const MergeOperands& operands, std::int64_t b, std::int64_t s, std::int64_t h);

}  // namespace fovea::cpu
