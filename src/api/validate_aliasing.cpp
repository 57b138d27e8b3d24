// Outputs overlap neither themselves, nor each other, nor an input. Judged by the bytes that a view spans: an output
// woven between the rows of an input is refused although its elements are free.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {

Error overlap_error(const Arg& output, const Arg& other) {
  return {.status = FOVEA_OUTPUT_OVERLAP,
          .asked = cat(output.name, " in memory that ", other.name, " spans"),
          .allowed = "outputs in memory of their own",
          .why = "tasks write while others still read, so the result would depend on timing",
          .hint = cat("allocate ", output.name, " apart from ", other.name)};
}

Check check_self_overlap(const Arg& output) {
  if (!may_overlap_itself(*output.tensor)) return {};
  return Error{.status = FOVEA_OUTPUT_OVERLAP,
               .asked = cat(output.name, " of shape ", shape_text(*output.tensor), " with strides that meet"),
               .allowed = "strides that give every element of an output its own address",
               .why = "several results would be written to one place",
               .hint = cat("make ", output.name, " contiguous; stride 0 is for inputs only")};
}

Check check_outputs_disjoint(std::span<const Arg> inputs, std::span<const Arg> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Arg& output = outputs[i];
    if (!present(*output.tensor) || has_no_element(*output.tensor)) continue;
    if (Check bad = check_self_overlap(output)) return bad;
    const ByteRange range = byte_range(*output.tensor).value_or(ByteRange{});
    const auto clashes = [&range](const Arg& other) {
      return present(*other.tensor) && range.intersects(byte_range(*other.tensor).value_or(ByteRange{}));
    };
    for (const Arg& input : inputs) {
      if (clashes(input)) return overlap_error(output, input);
    }
    for (const Arg& other : outputs.subspan(i + 1)) {
      if (clashes(other)) return overlap_error(output, other);
    }
  }
  return {};
}

Check check_aliasing(const fovea_forward_args& a, ForwardCall&) {
  const auto tensors = tensors_of(a);
  const std::span<const Arg> all(tensors);
  return check_outputs_disjoint(all.first(kForwardTensors - kForwardOutputs), all.last(kForwardOutputs));
}

}  // namespace fovea
