// Which tensors are there, whether each is sound alone, and where they live.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

bool same_device(const fovea_tensor& x, const fovea_tensor& y) {
  return x.device_type == y.device_type && x.device_id == y.device_id;
}

[[gnu::cold]] Error devices_differ(Arg first, Arg other) {
  return {.status = FOVEA_DEVICE,
          .asked = cat(first.name, " on device ", first.tensor->device_type, ":", first.tensor->device_id, ", ",
                       other.name, " on device ", other.tensor->device_type, ":", other.tensor->device_id),
          .allowed = "all tensors on one device",
          .why = "tensors are never copied between devices behind the caller's back",
          .hint = cat("move ", other.name, " to the device of ", first.name)};
}

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

Check check_same_device(Arg first, Arg other) {
  if (same_device(*first.tensor, *other.tensor)) return {};
  return devices_differ(first, other);
}

Check check_views(const fovea_forward_args& a, ForwardCall& call, ForwardBytes& bytes) {
  const ForwardTensor* elsewhere = nullptr;  // the first that is not where q is
  for (std::size_t i = 0; i < kForwardTensors.size(); ++i) {
    const Arg arg = kForwardTensors[i].arg(a);
    if (Check bad = check_presence(arg, kForwardTensors[i].required)) return bad;
    if (!present(*arg.tensor)) continue;
    if (Check bad = check_tensor(arg, bytes[i])) return bad;
    if (elsewhere == nullptr && !same_device(a.q, *arg.tensor)) elsewhere = &kForwardTensors[i];
  }
  if (elsewhere != nullptr) return devices_differ({"q", &a.q}, elsewhere->arg(a));
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
