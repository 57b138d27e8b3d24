// Call: one forward call ready to run: views over the inputs, outputs allocated in the layout of q's file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "tools/fovea/failure.h"
#include "tools/fovea/inputs.h"
#include "tools/fovea/io/tensor.h"

namespace fovea::cli {

// How q, k, v lie in the file. A rank-3 tensor is the same without B; with shd and no cu_seqlens it is one sequence.
enum class FileLayout : std::uint8_t { bshd, bhsd, shd };

struct Call {
  fovea_forward_args args{};
  Inputs inputs;  // what the views of args look at
  Tensor out;     // dense, in the file layout of q
  Tensor lse;     // dense [B, H, S] or [H, T]
};

// `args` carries flags and scalars already. `out_dtype` empty: the dtype of q.
Result<Call> make_call(Inputs inputs, const fovea_forward_args& args, FileLayout layout, const std::string& out_dtype);

// A view of `tensor` in the library's order of dimensions.
Result<fovea_tensor> rows_view(const Tensor& tensor, FileLayout layout, bool packed);

ElementType element_type_of(fovea_dtype dtype);

}  // namespace fovea::cli
