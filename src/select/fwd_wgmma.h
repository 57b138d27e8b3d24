// fwd_wgmma's part of the registry: what it serves, and which spec it takes for a problem.
#pragma once

#include <vector>

#include "select/select.h"

namespace fovea {

Verdict supports_fwd_wgmma(const Problem& problem, const Caps& caps);

// Whether all tiles of a call have about as many keys: no causal or window rule.
bool has_even_tiles(const Problem& problem);

// The spec for a problem that supports_fwd_wgmma() serves.
FwdSpec fwd_wgmma_spec(const Problem& problem);

// What everyday calls need on an architecture; none where it does not run.
std::vector<FwdSpec> standard_fwd_wgmma_specs(int sm);

}  // namespace fovea
