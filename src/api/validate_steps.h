// The steps of validate_forward, in the order in which they run: each may rely on what the earlier ones established.
#pragma once

#include <array>
#include <span>

#include "api/tensor_check.h"
#include "api/validate.h"

namespace fovea {

// Every tensor argument of a forward call; outputs come last.
inline constexpr std::size_t kForwardTensors = 13;
inline constexpr std::size_t kForwardOutputs = 2;
std::array<Arg, kForwardTensors> tensors_of(const fovea_forward_args& args);

Check check_settings(const fovea_forward_args& args, ForwardCall& call);  // flags, enums, scalars
Check check_views(const fovea_forward_args& args, ForwardCall& call);  // presence and soundness of each tensor, devices
Check check_dtypes(const fovea_forward_args& args, ForwardCall& call);
Check check_shapes(const fovea_forward_args& args, ForwardCall& call);    // shapes, heads; fills the row views
Check check_lengths(const fovea_forward_args& args, ForwardCall& call);   // contents of offsets, used lengths, pages
Check check_scores(const fovea_forward_args& args, ForwardCall& call);    // mask and bias
Check check_aliasing(const fovea_forward_args& args, ForwardCall& call);  // outputs against everything

// Shared with merge: `outputs` overlap neither themselves nor each other nor any of `inputs`.
Check check_outputs_disjoint(std::span<const Arg> inputs, std::span<const Arg> outputs);
Error overlap_error(const Arg& output, const Arg& other);
Check check_self_overlap(const Arg& output);
// Shared with merge: all present tensors lie on one device.
Check check_one_device(std::span<const Arg> args);
Check check_float_dtype(const Arg& arg);
Check check_exact_dtype(const Arg& arg, fovea_dtype dtype);

}  // namespace fovea
