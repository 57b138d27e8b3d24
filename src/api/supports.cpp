// fovea_supports: everything that fovea_forward() would refuse, without running it.
#include "api/boundary.h"
#include "api/context.h"

extern "C" fovea_status fovea_supports(fovea_context* context, const fovea_forward_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    ForwardCall call;
    if (Check bad = validate_forward(args, call)) return bad;
    const Result<Choice> choice = choose(call.problem, context->caps_for(call), call.backend);
    if (!choice.ok()) return choice.error();
    return {};
  });
}
