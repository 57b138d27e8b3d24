// What Python calls: functions of the tvm-ffi ABI over fovea.h. A refusal comes back as a string (view.h), success as
// None or as a list with the result, so that no exception crosses the border.
#include "arguments.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <vector>

#include "context.h"

namespace fovea::python {
namespace {

using tvm::ffi::Any;
using tvm::ffi::Array;
using tvm::ffi::String;

// The caller's current stream, where a tensor is on a GPU.
void* stream_of(const fovea_tensor& tensor) {
  return tensor.device_type == FOVEA_DEVICE_CUDA ? TVMFFIEnvGetStream(kDLCUDA, tensor.device_id) : nullptr;
}

// Order of arguments: api.py, arguments().
void read(Arguments& from, fovea_forward_args& args) {
  args.struct_size = sizeof(args);
  from.tensor("q", args.q);
  from.tensor("k", args.k);
  from.tensor("v", args.v);
  from.tensor("out", args.out);
  from.tensor("lse", args.lse);
  from.tensor("mask", args.mask);
  from.tensor("bias", args.bias);
  from.tensor("sink", args.sink);
  from.tensor("cu_seqlens_q", args.cu_seqlens_q);
  from.tensor("cu_seqlens_kv", args.cu_seqlens_kv);
  from.tensor("seqused_q", args.seqused_q);
  from.tensor("seqused_kv", args.seqused_kv);
  from.tensor("page_table", args.page_table);
  args.flags = static_cast<std::uint32_t>(from.integer("flags"));
  args.backend = static_cast<std::int32_t>(from.integer("backend"));
  args.softmax_scale = static_cast<float>(from.real("scale"));
  args.softcap = static_cast<float>(from.real("softcap"));
  args.window_left = from.integer("window_left");
  args.window_right = from.integer("window_right");
  args.q_offset = from.integer("q_offset");
  args.kv_offset = from.integer("kv_offset");
  args.num_splits = static_cast<std::int32_t>(from.integer("num_splits"));
  args.stream = stream_of(args.q);
}

// Calls `function` with the default context; None, or the refusal.
template <class Function>
Any checked(const Function& function) {
  Refusal refused;
  fovea_context* context = default_context(refused);
  if (context != nullptr) {
    fovea_error error = new_error();
    if (function(context, &error) != FOVEA_OK) refused = refusal(error);
  }
  return refused.empty() ? Any(nullptr) : Any(String(refused));
}

// The text that `function` writes by the buffer protocol of fovea_explain(), as a list of one; else the refusal.
template <class Function>
Any text_of(const Function& function) {
  std::string text;
  Any refused = checked([&](fovea_context* context, fovea_error* error) {
    size_t size = 0;
    fovea_status status = function(context, nullptr, &size, error);
    while (status == FOVEA_BUFFER_TOO_SMALL) {
      text.resize(size);
      *error = new_error();
      status = function(context, text.data(), &size, error);
    }
    if (status == FOVEA_OK) text.resize(size - 1);  // without its NUL
    return status;
  });
  if (refused != nullptr) return refused;
  return Array<String>{String(text)};
}

template <class Function>
Any with_forward_args(Arguments& from, const Function& function) {
  fovea_forward_args args{};
  read(from, args);
  if (!from.refused().empty()) return String(from.refused());
  return function(args);
}

template <fovea_status (*kCall)(fovea_context*, const fovea_forward_args*, fovea_error*)>
Any status_of(Arguments& from) {
  return with_forward_args(from, [](const fovea_forward_args& args) {
    return checked([&](fovea_context* context, fovea_error* error) { return kCall(context, &args, error); });
  });
}

Any forward(Arguments& from) { return status_of<fovea_forward>(from); }
Any supports(Arguments& from) { return status_of<fovea_supports>(from); }

Any explain(Arguments& from) {
  const std::int64_t format = from.integer("format");
  return with_forward_args(from, [format](const fovea_forward_args& args) {
    return text_of([&](fovea_context* context, char* buffer, size_t* size, fovea_error* error) {
      return fovea_explain(context, &args, static_cast<std::int32_t>(format), buffer, size, error);
    });
  });
}

// count, the outs, the lses, out, lse, sink.
Any merge(Arguments& from) {
  fovea_merge_args args{};
  args.struct_size = sizeof(args);
  const auto count = static_cast<std::size_t>(from.integer("count"));
  std::vector<fovea_tensor> outs(count), lses(count);
  for (fovea_tensor& view : outs) from.tensor("outs", view);
  for (fovea_tensor& view : lses) from.tensor("lses", view);
  from.tensor("out", args.out);
  from.tensor("lse", args.lse);
  from.tensor("sink", args.sink);
  if (!from.refused().empty()) return String(from.refused());
  args.outs = outs.data();
  args.lses = lses.data();
  args.count = static_cast<std::int32_t>(count);
  args.stream = stream_of(args.out);
  return checked([&](fovea_context* context, fovea_error* error) { return fovea_merge(context, &args, error); });
}

Any doctor(Arguments& from) {
  const auto format = static_cast<std::int32_t>(from.integer("format"));
  if (!from.refused().empty()) return String(from.refused());
  return text_of([&](fovea_context* context, char* buffer, size_t* size, fovea_error* error) {
    return fovea_doctor(context, format, buffer, size, error);
  });
}

Any kernels(Arguments& from) {
  const std::string target = from.text("target");
  const auto format = static_cast<std::int32_t>(from.integer("format"));
  if (!from.refused().empty()) return String(from.refused());
  return text_of([&](fovea_context* context, char* buffer, size_t* size, fovea_error* error) {
    return fovea_kernels(context, target.empty() ? nullptr : target.c_str(), format, buffer, size, error);
  });
}

// [origin, bytes, seconds] of entry `index` of the target's standard list.
Any warmup(Arguments& from) {
  const std::string target = from.text("target");
  const auto index = static_cast<std::int32_t>(from.integer("index"));
  if (!from.refused().empty()) return String(from.refused());
  fovea_warmup_result result{};
  result.struct_size = sizeof(result);
  const Any refused = checked([&](fovea_context* context, fovea_error* error) {
    return fovea_warmup(context, target.empty() ? nullptr : target.c_str(), index, &result, error);
  });
  if (refused != nullptr) return refused;
  return Array<Any>{result.origin, static_cast<std::int64_t>(result.bytes), result.seconds};
}

Any version(Arguments& from) {
  if (!from.refused().empty()) return String(from.refused());
  return Array<String>{String(fovea_version())};
}

template <Any (*kFunction)(Arguments&)>
int exported(const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  Arguments from(args, count);
  *reinterpret_cast<Any*>(result) = kFunction(from);
  TVM_FFI_SAFE_CALL_END();
}

}  // namespace
}  // namespace fovea::python

#define FOVEA_PYTHON_EXPORT(name)                                                                      \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(void*, const TVMFFIAny* args, std::int32_t count, \
                                                     TVMFFIAny* result) {                              \
    return fovea::python::exported<fovea::python::name>(args, count, result);                          \
  }

FOVEA_PYTHON_EXPORT(forward)
FOVEA_PYTHON_EXPORT(supports)
FOVEA_PYTHON_EXPORT(explain)
FOVEA_PYTHON_EXPORT(merge)
FOVEA_PYTHON_EXPORT(doctor)
FOVEA_PYTHON_EXPORT(kernels)
FOVEA_PYTHON_EXPORT(warmup)
FOVEA_PYTHON_EXPORT(version)
