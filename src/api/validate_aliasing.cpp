// Outputs overlap neither themselves, nor each other, nor an input. Judged by the bytes that a view spans: an output
// woven between the rows of an input is refused although its elements are free.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

[[gnu::cold]] Error self_overlap(Arg output) {
  return {.status = FOVEA_OUTPUT_OVERLAP,
          .asked = cat(output.name, " of shape ", shape_text(*output.tensor), " with strides that meet"),
          .allowed = "strides that give every element of an output its own address",
          .why = "several results would be written to one place",
          .hint = cat("make ", output.name, " contiguous; stride 0 is for inputs only")};
}

}  // namespace

Error overlap_error(Arg output, Arg other) {
  return {.status = FOVEA_OUTPUT_OVERLAP,
          .asked = cat(output.name, " in memory that ", other.name, " spans"),
          .allowed = "outputs in memory of their own",
          .why = "tasks write while others still read, so the result would depend on timing",
          .hint = cat("allocate ", output.name, " apart from ", other.name)};
}

Check check_self_overlap(Arg output) {
  if (!may_overlap_itself(*output.tensor)) return {};
  return self_overlap(output);
}

Check check_aliasing(const fovea_forward_args& a, const ForwardBytes& bytes) {
  constexpr std::size_t kFirstOutput = kForwardTensors.size() - kForwardOutputs;
  for (std::size_t i = kFirstOutput; i < kForwardTensors.size(); ++i) {
    if (bytes[i].empty()) continue;
    if (Check bad = check_self_overlap(kForwardTensors[i].arg(a))) return bad;
    const auto clashes = [&](std::size_t other) { return bytes[i].intersects(bytes[other]); };
    for (std::size_t input = 0; input < kFirstOutput; ++input) {
      if (clashes(input)) return overlap_error(kForwardTensors[i].arg(a), kForwardTensors[input].arg(a));
    }
    for (std::size_t other = i + 1; other < kForwardTensors.size(); ++other) {
      if (clashes(other)) return overlap_error(kForwardTensors[i].arg(a), kForwardTensors[other].arg(a));
    }
  }
  return {};
}

}  // namespace fovea
