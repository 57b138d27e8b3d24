// Runs the steps of forward validation in order.
#include "api/validate.h"

#include "api/validate_steps.h"
#include "api/versioned.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 1> kForwardArgsSizes{sizeof(fovea_forward_args)};

constexpr std::array kSteps{check_settings, check_views,  check_dtypes,  check_shapes,
                            check_lengths,  check_scores, check_aliasing};

Result<ForwardCall> checked_call(const fovea_forward_args& args) {
  Result<ForwardCall> result{ForwardCall{}};
  for (const auto step : kSteps) {
    if (Check bad = step(args, result.value())) return *std::move(bad);
  }
  return result;
}

}  // namespace

std::array<Arg, kForwardTensors> tensors_of(const fovea_forward_args& a) {
  return {Arg{"q", &a.q},
          {"k", &a.k},
          {"v", &a.v},
          {"mask", &a.mask},
          {"bias", &a.bias},
          {"sink", &a.sink},
          {"cu_seqlens_q", &a.cu_seqlens_q},
          {"cu_seqlens_kv", &a.cu_seqlens_kv},
          {"seqused_q", &a.seqused_q},
          {"seqused_kv", &a.seqused_kv},
          {"page_table", &a.page_table},
          {"out", &a.out},
          {"lse", &a.lse}};
}

Result<ForwardCall> validate_forward(const fovea_forward_args* args) {
  if (args == nullptr) return null_pointer("fovea_forward_args");
  // This version's struct is read where it is: the copy of a warm call would cost as much as a check.
  if (args->struct_size == sizeof(fovea_forward_args)) return checked_call(*args);
  const auto read = read_versioned("fovea_forward_args", args, kForwardArgsSizes);
  if (!read.ok()) return read.error();
  return checked_call(read.value());
}

}  // namespace fovea
