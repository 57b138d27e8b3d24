// .npy files: versions 1 to 3, little-endian f2 f4 f8 i4 i8 u1 b1, C or Fortran order (the latter as strides, no copy).
// NumPy has no bf16: two-byte `<u2` and `V2` arrays are read as bf16, and bf16 is written as `<u2`, only when asked.
#pragma once

#include <span>

#include "tools/fovea/failure.h"
#include "tools/fovea/io/byte_source.h"
#include "tools/fovea/io/output_file.h"
#include "tools/fovea/io/tensor.h"

namespace fovea::cli {

enum class NpyBf16 : bool { refuse, as_u2 };

Result<Tensor> read_npy(const ByteSource& source, NpyBf16 bf16);

// `tensor` is dense. Writes into `file`; the caller commits it.
Outcome write_npy(OutputFile& file, const Tensor& tensor, NpyBf16 bf16);

}  // namespace fovea::cli
