// The hardware behind one header, PTX side: one function per instruction, named after its mnemonic. The include path
// decides which isa/isa.h a kernel sees: this one (NVRTC) or the functional model of the same contract (host compiler).
// Nothing here knows tiles, layouts or attention. An instruction is emitted only where it is called, so every target
// from sm_80 on may include all families; docs/isa.md lists functions, mnemonics and minimum architectures.
#pragma once

#include "isa/atomic.h"
#include "isa/barrier.h"
#include "isa/cluster.h"
#include "isa/config.h"
#include "isa/convert.h"
#include "isa/cp_async.h"
#include "isa/integer.h"
#include "isa/ldmatrix.h"
#include "isa/ldst.h"
#include "isa/math.h"
#include "isa/math_x2.h"
#include "isa/mbarrier.h"
#include "isa/mma.h"
#include "isa/special.h"
#include "isa/tma.h"
#include "isa/warp.h"
#include "isa/wgmma.h"
