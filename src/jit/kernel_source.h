// KernelSource: one kernel for one spec, as text that a compiler can be given. src/select makes these from specs; the
// stub writer turns them into a translation unit.
#pragma once

#include <cstdint>
#include <string>

namespace fovea {

struct KernelSource {
  std::string header;        // "kernels/fwd_mma.h"
  std::string spec_expr;     // a C++ designated initialiser: "{.head_dim_qk = 128, .tile_m = 128}"
  std::string spec_type;     // "fovea::FwdSpec"
  std::string params_type;   // "fovea::FwdParams"
  std::string kernel;        // "fwd_mma": the function template fovea::kernels::fwd_mma<spec>(params)
  std::uint64_t digest = 0;  // digest(spec), as the host computed it
  int smem_bytes = 0;        // plan_smem(spec).bytes, as the host computed it
  int threads = 0;           // per CTA
  int min_ctas = 1;          // CTAs per SM that the register allocation must allow

  bool operator==(const KernelSource&) const = default;
};

}  // namespace fovea
