// The fp32 multiply-add peak of this machine, measured: the yardstick of `fovea bench`.
#pragma once

namespace fovea::cli {

// GFLOP/s (a multiply-add counts as 2) of `num_threads` threads that run nothing but independent vector multiply-adds
// on registers, with the widest vectors that Highway finds here; the best of several short runs.
double measure_fma_peak_gflops(int num_threads);

}  // namespace fovea::cli
