// misuse: static assertion failed
// A spec that the kernel family cannot run is refused where the kernel is instantiated.
#include "kernels/fwd_mma.h"

namespace fovea {

#ifdef MISUSE
inline constexpr FwdSpec kSpec{.tile_n = 24};
#else
inline constexpr FwdSpec kSpec{};
#endif

void entry(const FwdParams& p) { kernels::fwd_mma<kSpec>(p); }

}  // namespace fovea
