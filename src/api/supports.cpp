// fovea_supports: everything that fovea_forward() would refuse, without running it.
#include "api/boundary.h"
#include "api/context.h"

extern "C" fovea_status fovea_supports(fovea_context* context, const fovea_forward_args* args, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    const Result<ForwardCall> call = validate_forward(args);
    if (!call.ok()) return call.error();
    const Result<Choice> choice = choose(call.value().problem, context->caps_for(call.value()), call.value().backend);
    if (!choice.ok()) return choice.error();
    return {};
  });
}
