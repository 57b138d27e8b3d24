// DLPack tensors as fovea_tensor views. What fovea.h has no word for is refused here, with the operand's name.
#pragma once

#include <dlpack/dlpack.h>

#include <string>

#include "fovea/fovea.h"

namespace fovea::python {

// Fields of a refusal, joined by kSeparator in the order code, asked, allowed, why, hint. Empty: none.
using Refusal = std::string;
inline constexpr char kSeparator = '\x1f';

Refusal refusal(const fovea_error& error);

inline fovea_error new_error() {
  fovea_error error{};
  error.struct_size = sizeof(error);
  return error;
}

// Fills `view` with the same memory and strides. Returns the refusal of operand `name`, if any.
Refusal view_of(const char* name, const DLTensor& tensor, fovea_tensor& view);

}  // namespace fovea::python
