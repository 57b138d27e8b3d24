// Thread block clusters: their barrier, shared memory of other CTAs, register reallocation between warpgroups, and the
// dependency on the grid before. Copies between CTAs by the copy engine are in bulk.h.
#pragma once

#include "isa/config.h"

namespace fovea::isa {

// Parallel Synchronization and Communication Instructions: barrier.cluster, sm_90. Whole warps together, every thread
// of the cluster once per phase. Arrival releases, waiting acquires.
FOVEA_INLINE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
FOVEA_INLINE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
FOVEA_INLINE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Data Movement and Conversion Instructions: mapa, sm_90. The same place in the shared memory of CTA `rank`.
FOVEA_INLINE SmemPtr mapa(SmemPtr p, u32 rank) {
  SmemPtr d;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d.address) : "r"(p.address), "r"(rank));
  return d;
}

// Data Movement and Conversion Instructions: ld, sm_90.
FOVEA_INLINE u32 ld_shared_cluster(SmemPtr remote) {
  u32 d;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(d) : "r"(remote.address));
  return d;
}

// Data Movement and Conversion Instructions: st, sm_90.
FOVEA_INLINE void st_shared_cluster(SmemPtr remote, u32 v) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote.address), "r"(v) : "memory");
}

// Data Movement and Conversion Instructions: st.async, sm_90. Completes 4 bytes at the barrier, which lies in the same
// CTA as the destination.
FOVEA_INLINE void st_async(SmemPtr remote, u32 v, SmemPtr remote_mbar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(remote.address),
               "r"(v), "r"(remote_mbar.address)
               : "memory");
}

// Parallel Synchronization and Communication Instructions: red.async, sm_90. Completes 4 bytes at the barrier.
FOVEA_INLINE void red_async_add(SmemPtr remote, u32 v, SmemPtr remote_mbar) {
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                   remote.address),
               "r"(v), "r"(remote_mbar.address)
               : "memory");
}

// Miscellaneous Instructions: setmaxnreg, sm_90a+. All warps of a warpgroup together; the kernel has launch bounds.
// Blocks until the CTA's pool has the registers; their contents are undefined.
template <int kRegisters>
FOVEA_INLINE void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
FOVEA_INLINE void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Parallel Synchronization and Communication Instructions: griddepcontrol, sm_90. Waits until the grids before are
// complete and their memory is visible.
FOVEA_INLINE void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next grid start early; makes nothing visible to it.
FOVEA_INLINE void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace fovea::isa
