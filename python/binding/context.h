// The process's context of the Python package: made by the first call that needs it, kept until the process ends.
#pragma once

#include "view.h"

namespace fovea::python {

// A context, or nullptr and why not. After fork() the child gets one of its own: threads do not survive a fork.
fovea_context* default_context(Refusal& refused);

}  // namespace fovea::python
