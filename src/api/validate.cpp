// Runs the steps of forward validation in order.
#include "api/validate.h"

#include "api/validate_steps.h"
#include "api/versioned.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 1> kForwardArgsSizes{sizeof(fovea_forward_args)};

Check run_steps(const fovea_forward_args& args, ForwardCall& call) {
  ForwardBytes bytes;
  if (Check bad = check_settings(args, call)) return bad;
  if (Check bad = check_views(args, call, bytes)) return bad;
  if (Check bad = check_dtypes(args, call)) return bad;
  if (Check bad = check_shapes(args, call)) return bad;
  if (Check bad = check_lengths(args, call)) return bad;
  if (Check bad = check_scores(args, call)) return bad;
  return check_aliasing(args, bytes);
}

}  // namespace

Check validate_forward(const fovea_forward_args* args, ForwardCall& call) {
  if (args == nullptr) return null_pointer("fovea_forward_args");
  // This version's struct is read where it is: the copy of a warm call would cost as much as a check.
  if (args->struct_size == sizeof(fovea_forward_args)) return run_steps(*args, call);
  const auto read = read_versioned("fovea_forward_args", args, kForwardArgsSizes);
  if (!read.ok()) return read.error();
  return run_steps(read.value(), call);
}

}  // namespace fovea
