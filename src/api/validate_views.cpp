// Which tensors are there, whether each is sound alone, and where they live.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

Check check_paged_arguments(const fovea_forward_args& a) {
  if (!present(a.page_table)) return {};
  if (present(a.cu_seqlens_kv)) {
    return Error{.status = FOVEA_PAGED_ARGUMENTS,
                 .asked = "page_table together with cu_seqlens_kv",
                 .allowed = "one of them",
                 .why = "keys lie either in pages or in packed rows",
                 .hint = "drop cu_seqlens_kv and give the lengths of paged keys in seqused_kv"};
  }
  if (present(a.seqused_kv)) return {};
  return Error{.status = FOVEA_PAGED_ARGUMENTS,
               .asked = "page_table without seqused_kv",
               .allowed = "page_table with seqused_kv",
               .why = "a page table alone does not say how many keys a sequence has",
               .hint = "give seqused_kv, int32 [batch]"};
}

}  // namespace

Check check_one_device(std::span<const Arg> args) {
  const Arg* first = nullptr;
  for (const Arg& arg : args) {
    if (!present(*arg.tensor)) continue;
    if (first == nullptr) first = &arg;
    if (arg.tensor->device_type != first->tensor->device_type || arg.tensor->device_id != first->tensor->device_id) {
      return Error{.status = FOVEA_DEVICE,
                   .asked = cat(first->name, " on device ", first->tensor->device_type, ":", first->tensor->device_id,
                                ", ", arg.name, " on device ", arg.tensor->device_type, ":", arg.tensor->device_id),
                   .allowed = "all tensors on one device",
                   .why = "tensors are never copied between devices behind the caller's back",
                   .hint = cat("move ", arg.name, " to the device of ", first->name)};
    }
  }
  return {};
}

Check check_views(const fovea_forward_args& a, ForwardCall& call) {
  const auto tensors = tensors_of(a);
  const auto required = [&a](const Arg& arg) {
    return arg.tensor == &a.q || arg.tensor == &a.k || arg.tensor == &a.v || arg.tensor == &a.out;
  };
  for (const Arg& arg : tensors) {
    if (Check bad = check_presence(arg, required(arg))) return bad;
    if (!present(*arg.tensor)) continue;
    if (Check bad = check_tensor(arg)) return bad;
  }
  if (Check bad = check_one_device(tensors)) return bad;
  call.problem.device = static_cast<fovea_device_type>(a.q.device_type);
  call.device_id = a.q.device_id;
  call.stream = a.stream;
  if (call.backend == FOVEA_BACKEND_CPU && call.problem.device != FOVEA_DEVICE_CPU) {
    return Error{.status = FOVEA_DEVICE,
                 .asked = "CUDA tensors, backend cpu",
                 .allowed = "tensors in CPU memory",
                 .why = "tensors are never copied between devices behind the caller's back",
                 .hint = "copy the tensors to CPU memory, or ask for FOVEA_BACKEND_AUTO"};
  }
  return check_paged_arguments(a);
}

}  // namespace fovea
