// fwd_wgmma's part of the registry: what it serves, and which spec it takes for a problem.
#pragma once

#include <vector>

#include "select/select.h"

namespace fovea {

Verdict supports_fwd_wgmma(const Problem& problem, const Caps& caps);

// For a problem that supports_fwd_wgmma() serves: its spec; how many keys of its pages TMA brings at a time where a
// step has `keys` of them.
FwdSpec fwd_wgmma_spec(const Problem& problem);
std::int32_t fwd_wgmma_page_box(const Problem& problem, std::int64_t keys);

// What everyday calls need on an architecture; none where it does not run.
std::vector<FwdSpec> standard_fwd_wgmma_specs(int sm);

}  // namespace fovea
