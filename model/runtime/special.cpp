// Special registers, trap, roles, and how a thread ends.
#include "model/runtime/machine.h"
#include "model/runtime/text.h"

namespace fovea::model {

u32 Thread::special(Special which) {
  const LaunchConfig& config = machine->config;
  const Cta& c = cta();
  switch (which) {
    case Special::tid_x:
      return tid;
    case Special::ntid_x:
      return config.threads;
    case Special::ctaid_x:
      return c.x;
    case Special::ctaid_y:
      return c.y;
    case Special::ctaid_z:
      return c.z;
    case Special::nctaid_x:
      return config.grid_x;
    case Special::nctaid_y:
      return config.grid_y;
    case Special::nctaid_z:
      return config.grid_z;
    case Special::laneid:
      return lane;
    case Special::cluster_ctarank:
      need_sm(90, "%cluster_ctarank");
      return c.rank;
    case Special::cluster_nctarank:
      need_sm(90, "%cluster_nctarank");
      return config.cluster;
    case Special::smem_base:
      return (c.rank << kRankShift) | kSmemBase;
  }
  return 0;
}

void Thread::trap() { fail(Code::trap, "trap"); }

void Thread::set_role(const char* label) { role = label; }

}  // namespace fovea::model
