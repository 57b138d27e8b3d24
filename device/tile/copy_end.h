// The end of a row in global memory whose elements begin anywhere: aligned pieces of 16 bytes, of which none behind the
// row is read.
#pragma once

#include "isa/isa.h"

namespace fovea {

// Four bytes, of which the first `bytes` are the row's; the others come as zeros.
FOVEA_INLINE void copy_end_word(SmemPtr to, const u8* from, i32 bytes) {
  if (bytes >= 4) return isa::cp_async_ca<4>(to, from, 4U);
  u32 word = 0;
  FOVEA_UNROLL
  for (i32 i = 0; i < 3; ++i) {
    if (i < bytes) word |= u32{isa::ld_global_nc<u8>(from + i)} << static_cast<u32>(8 * i);
  }
  isa::st_shared<u32>(to, word);
}

// A piece, of which the first `bytes` are the row's. By words, as memcheck takes a cp.async of fewer source bytes for a
// read of 16.
FOVEA_INLINE void copy_row_end(SmemPtr to, const u8* from, i32 bytes) {
  if (bytes >= 16 || bytes <= 0) return isa::cp_async_cg(to, from, bytes > 0 ? 16U : 0U);
  FOVEA_UNROLL
  for (i32 word = 0; word < 4; ++word)
    copy_end_word(to + static_cast<u32>(4 * word), from + 4 * word, bytes - 4 * word);
}

}  // namespace fovea
