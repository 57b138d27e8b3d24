// From a spec to the source of its kernel, and the lists of specs that are compiled ahead of use.
#pragma once

#include <vector>

#include "device/spec/combine_spec.h"
#include "device/spec/merge_params.h"
#include "jit/kernel_source.h"
#include "select/select.h"

namespace fovea {

KernelSource kernel_source(const FwdSpec& spec);
KernelSource kernel_source(const CombineSpec& spec);
KernelSource kernel_source(const MergeSpec& spec);

// What everyday calls need on an architecture (80, 86, 89, 90, 100, 120).
std::vector<KernelSource> standard_specs(int sm);

}  // namespace fovea
