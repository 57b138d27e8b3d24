// What DLPack and fovea.h call the same things, and refusals where fovea.h has no word.
#include "view.h"

#include <algorithm>

namespace fovea::python {
namespace {

Refusal refusal(const std::string& code, const std::string& asked, const std::string& allowed, const std::string& why,
                const std::string& hint) {
  return code + kSeparator + asked + kSeparator + allowed + kSeparator + why + kSeparator + hint;
}

int dtype_of(const DLDataType& type) {
  if (type.lanes != 1) return 0;
  if (type.code == kDLFloat && type.bits == 32) return FOVEA_F32;
  if (type.code == kDLFloat && type.bits == 16) return FOVEA_F16;
  if (type.code == kDLFloat && type.bits == 64) return FOVEA_F64;
  if (type.code == kDLBfloat && type.bits == 16) return FOVEA_BF16;
  if (type.code == kDLBool && type.bits == 8) return FOVEA_BOOL;
  if (type.code == kDLInt && type.bits == 32) return FOVEA_I32;
  return 0;
}

std::string name_of(const DLDataType& type) {
  const char* const families[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string family = type.code < std::size(families) ? families[type.code] : "dlpack type ";
  return family + std::to_string(type.bits);
}

int device_of(DLDeviceType type) {
  if (type == kDLCPU || type == kDLCUDAHost) return FOVEA_DEVICE_CPU;
  if (type == kDLCUDA || type == kDLCUDAManaged) return FOVEA_DEVICE_CUDA;
  return -1;
}

// Strides of a tensor that gives none: rows one after the other.
void set_compact(fovea_tensor& view) {
  std::int64_t step = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[i] = step;
    step *= view.shape[i];
  }
}

}  // namespace

Refusal refusal(const fovea_error& error) {
  return refusal(error.code, error.asked, error.allowed, error.why, error.hint);
}

Refusal view_of(const char* name, const DLTensor& tensor, fovea_tensor& view) {
  const std::string operand = name;
  view.dtype = dtype_of(tensor.dtype);
  if (view.dtype == 0) {
    return refusal("dtype", operand + " of " + name_of(tensor.dtype), "float32, bfloat16, float16, bool or int32",
                   "fovea has no other element types", "convert " + operand + " first");
  }
  const int device = device_of(tensor.device.device_type);
  if (device < 0) {
    return refusal("device", operand + " on DLPack device type " + std::to_string(tensor.device.device_type),
                   "memory of the CPU or of a CUDA GPU", "no backend serves other devices", "move " + operand);
  }
  if (tensor.ndim < 1 || tensor.ndim > FOVEA_MAX_RANK) {
    return refusal("rank", operand + " with " + std::to_string(tensor.ndim) + " dimensions", "1 to 4 dimensions",
                   "no operand has others", "reshape " + operand + " as the documentation says");
  }
  view.rank = tensor.ndim;
  view.device_type = device;
  view.device_id = device == FOVEA_DEVICE_CUDA ? tensor.device.device_id : 0;
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  std::copy_n(tensor.shape, view.rank, view.shape);
  if (tensor.strides != nullptr) {
    std::copy_n(tensor.strides, view.rank, view.strides);
  } else {
    set_compact(view);
  }
  return {};
}

}  // namespace fovea::python
