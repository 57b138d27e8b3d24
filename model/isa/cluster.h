// Clusters, distributed shared memory, register reallocation and dependent launch (PTX ISA, "barrier.cluster", "mapa",
// "st.async", "red.async", "setmaxnreg", "griddepcontrol"; SM90).
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE void cluster_arrive() { model::this_thread().cluster_barrier(model::ClusterOp::arrive); }
FOVEA_INLINE void cluster_arrive_relaxed() { model::this_thread().cluster_barrier(model::ClusterOp::arrive_relaxed); }
FOVEA_INLINE void cluster_wait() { model::this_thread().cluster_barrier(model::ClusterOp::wait); }

FOVEA_INLINE SmemPtr mapa(SmemPtr p, u32 rank) { return {model::this_thread().mapa(p.address, rank)}; }
FOVEA_INLINE u32 ld_shared_cluster(SmemPtr p) { return model::this_thread().load_shared_cluster(p.address); }
FOVEA_INLINE void st_shared_cluster(SmemPtr p, u32 value) {
  model::this_thread().store_shared_cluster(p.address, value);
}
FOVEA_INLINE void st_async(SmemPtr remote, u32 value, SmemPtr remote_mbar) {
  model::this_thread().store_async(remote.address, value, remote_mbar.address, false);
}
FOVEA_INLINE void red_async_add(SmemPtr remote, u32 value, SmemPtr remote_mbar) {
  model::this_thread().store_async(remote.address, value, remote_mbar.address, true);
}

template <int kRegisters>
FOVEA_INLINE void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  model::this_thread().setmaxnreg(static_cast<u32>(kRegisters), true);
}
template <int kRegisters>
FOVEA_INLINE void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  model::this_thread().setmaxnreg(static_cast<u32>(kRegisters), false);
}

FOVEA_INLINE void griddepcontrol_wait() { model::this_thread().griddepcontrol(model::GridOp::wait); }
FOVEA_INLINE void griddepcontrol_launch_dependents() {
  model::this_thread().griddepcontrol(model::GridOp::launch_dependents);
}

}  // namespace fovea::isa
