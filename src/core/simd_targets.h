// The SIMD targets that the cpu backend is built for: AVX-512 and AVX2 on x86-64, NEON on Arm, and a scalar baseline.
// Fewer targets, shorter builds: a CPU between two of them takes the lower one. Include before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
