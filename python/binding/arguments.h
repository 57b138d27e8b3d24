// Arguments of a tvm-ffi call, read in order.
#pragma once

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/string.h>

#include "view.h"

namespace fovea::python {

class Arguments {
 public:
  Arguments(const TVMFFIAny* args, std::int32_t count) : next_(args), end_(args + count) {}

  // Leaves `view` absent for None.
  void tensor(const char* name, fovea_tensor& view) {
    const TVMFFIAny* any = take();
    if (any == nullptr || any->type_index == kTVMFFINone) return;
    const DLTensor* tensor = dl_tensor(*any);
    if (tensor == nullptr) return fail(name, "a tensor, or None where it is optional");
    if (refused_.empty()) refused_ = view_of(name, *tensor, view);
  }

  std::int64_t integer(const char* name) { return number<std::int64_t>(name, "an integer"); }
  double real(const char* name) { return number<double>(name, "a number"); }

  // Empty for None.
  std::string text(const char* name) {
    const TVMFFIAny* any = take();
    if (any == nullptr || any->type_index == kTVMFFINone) return {};
    const auto value = tvm::ffi::AnyView::CopyFromTVMFFIAny(*any).try_cast<tvm::ffi::String>();
    if (!value) fail(name, "a string");
    return value ? std::string(*value) : std::string();
  }

  // The first refusal; also of a call with too few or too many arguments.
  const Refusal& refused() {
    if (next_ != end_) fail("the call", "as many arguments as it has");
    return refused_;
  }

 private:
  const TVMFFIAny* take() { return next_ < end_ ? next_++ : (fail("the call", "more arguments"), nullptr); }

  static const DLTensor* dl_tensor(const TVMFFIAny& any) {
    if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(any.v_ptr);
    if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
    return nullptr;
  }

  template <class T>
  T number(const char* name, const char* wanted) {
    const TVMFFIAny* any = take();
    const auto value = any == nullptr ? std::nullopt : tvm::ffi::AnyView::CopyFromTVMFFIAny(*any).try_cast<T>();
    if (!value) fail(name, wanted);
    return value.value_or(T{});
  }

  void fail(const std::string& name, const char* wanted) {
    if (!refused_.empty()) return;
    refused_ = "argument_type";
    refused_ += kSeparator + name;
    refused_ += kSeparator + std::string(wanted);
    refused_ += kSeparator + std::string("the binding takes its arguments in one order");
    refused_ += kSeparator + std::string("call the functions of the package");
  }

  const TVMFFIAny* next_;
  const TVMFFIAny* end_;
  Refusal refused_;
};

}  // namespace fovea::python
