// Special registers (PTX ISA, "Special Registers"; SM80, cluster registers SM90), trap, and the role label of a thread
// that fault texts carry.
#pragma once

#include "config.h"

namespace fovea::isa {

FOVEA_INLINE u32 tid_x() { return model::this_thread().special(model::Special::tid_x); }
FOVEA_INLINE u32 ntid_x() { return model::this_thread().special(model::Special::ntid_x); }
FOVEA_INLINE u32 ctaid_x() { return model::this_thread().special(model::Special::ctaid_x); }
FOVEA_INLINE u32 ctaid_y() { return model::this_thread().special(model::Special::ctaid_y); }
FOVEA_INLINE u32 ctaid_z() { return model::this_thread().special(model::Special::ctaid_z); }
FOVEA_INLINE u32 nctaid_x() { return model::this_thread().special(model::Special::nctaid_x); }
FOVEA_INLINE u32 nctaid_y() { return model::this_thread().special(model::Special::nctaid_y); }
FOVEA_INLINE u32 nctaid_z() { return model::this_thread().special(model::Special::nctaid_z); }
FOVEA_INLINE u32 laneid() { return model::this_thread().special(model::Special::laneid); }
FOVEA_INLINE u32 cluster_ctarank() { return model::this_thread().special(model::Special::cluster_ctarank); }
FOVEA_INLINE u32 cluster_nctarank() { return model::this_thread().special(model::Special::cluster_nctarank); }

// Byte address of dynamic shared memory, 1024-aligned; the CTA's rank in its cluster stands in bits 24 and up.
FOVEA_INLINE u32 smem_base() { return model::this_thread().special(model::Special::smem_base); }

FOVEA_INLINE void trap() { model::this_thread().trap(); }

// A name for what this thread does ("producer"), for fault texts. `name` outlives the launch. No instruction.
FOVEA_INLINE void set_role(const char* name) { model::this_thread().set_role(name); }

}  // namespace fovea::isa
