// ViewReads: what the strides of a mask or bias leave a kernel to read at a time.
#pragma once

#include "base/types.h"

namespace fovea {

// How the keys of a mask or bias row can be read. vectors: neighbouring keys are neighbours in memory, every row starts
// at a multiple of 16 bytes and holds a multiple of 16 keys (bias: 8), so that these are read in one piece. words:
// neighbours in rows that start anywhere, by aligned words. elements: one by one, which Loads::any alone does.
enum class ViewReads : i32 { elements, words, vectors };

}  // namespace fovea
