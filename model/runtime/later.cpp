// Families that the model does not execute yet: each is refused by name.
#include "model/runtime/machine.h"

namespace fovea::model {

void Thread::tma(const TmaArgs&) { fail(Code::architecture, "cp.async.bulk.tensor is not in the model yet"); }
void Thread::prefetch_tensormap(const TensorMap*) {}
void Thread::bulk(BulkOp, u32, void*, u32, u32, u32) {
  fail(Code::architecture, "cp.async.bulk is not in the model yet");
}
void Thread::bulk_commit_group() { fail(Code::architecture, "cp.async.bulk is not in the model yet"); }
void Thread::bulk_wait_group(u32, bool) { fail(Code::architecture, "cp.async.bulk is not in the model yet"); }
void Thread::wgmma_fence() { fail(Code::architecture, "wgmma is not in the model yet"); }
void Thread::wgmma(const WgmmaArgs&) { fail(Code::architecture, "wgmma is not in the model yet"); }
void Thread::wgmma_commit_group() { fail(Code::architecture, "wgmma is not in the model yet"); }
void Thread::wgmma_wait_group(u32) { fail(Code::architecture, "wgmma is not in the model yet"); }
void Thread::cluster_barrier(ClusterOp) { fail(Code::architecture, "barrier.cluster is not in the model yet"); }
u32 Thread::mapa(u32, u32) { fail(Code::architecture, "mapa is not in the model yet"); }
u32 Thread::load_shared_cluster(u32) { fail(Code::architecture, "ld.shared::cluster is not in the model yet"); }
void Thread::store_shared_cluster(u32, u32) { fail(Code::architecture, "st.shared::cluster is not in the model yet"); }
void Thread::store_async(u32, u32, u32, bool) { fail(Code::architecture, "st.async is not in the model yet"); }
void Thread::setmaxnreg(u32, bool) { fail(Code::architecture, "setmaxnreg is not in the model yet"); }
void Thread::griddepcontrol(GridOp) { need_sm(90, "griddepcontrol"); }

}  // namespace fovea::model
