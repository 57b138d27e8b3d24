// fwd_mma's part of the registry: what it serves, which spec it takes for a problem, and the standard list of specs.
#pragma once

#include <string>
#include <vector>

#include "select/select.h"

namespace fovea {

Verdict supports_fwd_mma(const Problem& problem, const Caps& caps);

// The spec for a problem that supports_fwd_mma() serves on this GPU.
FwdSpec fwd_mma_spec(const Problem& problem, const GpuCaps& gpu);

// The specs that everyday calls need on an architecture: what `fovea warmup` compiles.
std::vector<FwdSpec> standard_fwd_mma_specs(int sm);

// The spec as a C++20 designated initialiser, "{.element = fovea::Element::bf16, ...}": goes into generated sources.
std::string to_cpp(const FwdSpec& spec);

}  // namespace fovea
