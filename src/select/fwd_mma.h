// fwd_mma's part of the registry: what it serves, which spec it takes for a problem, and the standard list of specs.
#pragma once

#include <string>
#include <vector>

#include "device/spec/combine_spec.h"
#include "select/select.h"

namespace fovea {

Verdict supports_fwd_mma(const Problem& problem, const Caps& caps);

// A float dtype as kernels name it.
Element element_of(fovea_dtype dtype);

// Whether the exponent takes softmax_scale: no softcap stands between, and no sign turns the order of the scores.
bool scale_folds(const Problem& problem);

// Whether tiles of the rows of a group (Rows::group) are fewer than tiles of each head's, by a tenth at least.
bool grouping_fills_tiles(const Problem& problem, std::int64_t tile_m);

// Tiles of all heads and sequences before keys are split; packed sequences count as one.
std::int64_t row_tiles(const Problem& problem, const FwdSpec& spec);

// Whether as many CTAs as the spec wants fit an SM's shared memory.
bool smem_fits(const FwdSpec& spec, const GpuCaps& gpu);

// The spec for a problem that supports_fwd_mma() serves on this GPU.
FwdSpec fwd_mma_spec(const Problem& problem, const GpuCaps& gpu);

// Parts of the key range that are computed apart and merged by the combine kernel; 1 = none.
std::int32_t fwd_mma_splits(const Problem& problem, const GpuCaps& gpu);

// Keys per split in batch-invariant mode: a constant, so that a request is split the same way in any batch.
inline constexpr std::int32_t kInvariantSplitKeys = 4096;

// The kernel that merges the parts, where there are several.
CombineSpec combine_spec(const Problem& problem);

// The specs that everyday calls need on an architecture: what `fovea warmup` compiles.
std::vector<FwdSpec> standard_fwd_mma_specs(int sm);

// The spec as a C++20 designated initialiser, "{.element = fovea::Element::bf16, ...}": goes into generated sources.
std::string to_cpp(const FwdSpec& spec);
std::string to_cpp(const CombineSpec& spec);

}  // namespace fovea
