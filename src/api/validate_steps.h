// The steps of validate_forward, in the order in which they run: each may rely on what the earlier ones established.
#pragma once

#include <array>

#include "api/tensor_check.h"
#include "api/validate.h"

namespace fovea {

// A tensor argument of a forward call.
struct ForwardTensor {
  const char* name;
  fovea_tensor fovea_forward_args::*member;
  bool required = false;
  const fovea_tensor& in(const fovea_forward_args& args) const { return args.*member; }
  Arg arg(const fovea_forward_args& args) const { return {name, &in(args)}; }
};

// All of them; outputs come last.
inline constexpr std::array kForwardTensors{ForwardTensor{"q", &fovea_forward_args::q, true},
                                            ForwardTensor{"k", &fovea_forward_args::k, true},
                                            ForwardTensor{"v", &fovea_forward_args::v, true},
                                            ForwardTensor{"mask", &fovea_forward_args::mask},
                                            ForwardTensor{"bias", &fovea_forward_args::bias},
                                            ForwardTensor{"sink", &fovea_forward_args::sink},
                                            ForwardTensor{"cu_seqlens_q", &fovea_forward_args::cu_seqlens_q},
                                            ForwardTensor{"cu_seqlens_kv", &fovea_forward_args::cu_seqlens_kv},
                                            ForwardTensor{"seqused_q", &fovea_forward_args::seqused_q},
                                            ForwardTensor{"seqused_kv", &fovea_forward_args::seqused_kv},
                                            ForwardTensor{"page_table", &fovea_forward_args::page_table},
                                            ForwardTensor{"out", &fovea_forward_args::out, true},
                                            ForwardTensor{"lse", &fovea_forward_args::lse}};
inline constexpr std::size_t kForwardOutputs = 2;

// The byte range of each of kForwardTensors; empty for an absent one.
using ForwardBytes = std::array<ByteRange, kForwardTensors.size()>;

Check check_settings(const fovea_forward_args& args, ForwardCall& call);  // flags, enums, scalars
// Presence and soundness of each tensor, devices; fills `bytes`.
Check check_views(const fovea_forward_args& args, ForwardCall& call, ForwardBytes& bytes);
Check check_dtypes(const fovea_forward_args& args, ForwardCall& call);
Check check_shapes(const fovea_forward_args& args, ForwardCall& call);   // shapes, heads; fills the row views
Check check_lengths(const fovea_forward_args& args, ForwardCall& call);  // contents of offsets, used lengths, pages
Check check_scores(const fovea_forward_args& args, ForwardCall& call);   // mask and bias
Check check_aliasing(const fovea_forward_args& args, const ForwardBytes& bytes);  // outputs against everything

// What merge checks in the same way.
[[gnu::cold]] Error overlap_error(Arg output, Arg other);
Check check_self_overlap(Arg output);
Check check_same_device(Arg first, Arg other);

[[gnu::cold]] Error unknown_backend(std::int32_t backend);
inline Check check_backend_number(std::int32_t backend) {
  if (backend >= FOVEA_BACKEND_AUTO && backend <= FOVEA_BACKEND_MODEL) return {};
  return unknown_backend(backend);
}

[[gnu::cold]] Error not_a_served_float(Arg arg);
inline Check check_float_dtype(Arg arg) {
  const std::int32_t dtype = arg.tensor->dtype;
  if (dtype == FOVEA_F32 || dtype == FOVEA_BF16 || dtype == FOVEA_F16) return {};
  return not_a_served_float(arg);
}

// An absent argument passes.
[[gnu::cold]] Error not_the_dtype(Arg arg, fovea_dtype dtype);
inline Check check_exact_dtype(Arg arg, fovea_dtype dtype) {
  if (!present(*arg.tensor) || arg.tensor->dtype == static_cast<std::int32_t>(dtype)) return {};
  return not_the_dtype(arg, dtype);
}

}  // namespace fovea
