// The instruction contract, executed on the host: one header per family. Kernel sources include this file and nothing
// else of the model; every function forwards to the thread that runs it (model/machine.h).
#pragma once

#include "barrier.h"
#include "cluster.h"
#include "config.h"
#include "convert.h"
#include "cp_async.h"
#include "ldmatrix.h"
#include "ldst.h"
#include "math.h"
#include "mbarrier.h"
#include "mma.h"
#include "special.h"
#include "tma.h"
#include "warp.h"
#include "wgmma.h"
