// Kernels that run every instruction of the contract on given inputs: the same source for a GPU (NVRTC, isa_ptx) and
// for the model. Each takes (in, out); a CTA reads and writes its own slice, whose sizes are in cases.h. A kernel's
// output depends on its inputs only, not on timing.
#pragma once

#include "kernels_arithmetic.h"
#include "kernels_async.h"
#include "kernels_cluster.h"
#include "kernels_matrix.h"
#include "kernels_memory.h"
#include "kernels_sync.h"
#include "kernels_tma.h"
#include "kernels_warp.h"
#include "kernels_wgmma.h"
